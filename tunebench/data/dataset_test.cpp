#include "tunebench/data/dataset.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/data/testing.h"
#include "tunebench/data/tokenizer.h"

namespace tunebench::data {
namespace {

using testing::EndsWith;
using testing_support::message_of;
using testing_support::TestFile;

TEST(ResolveDataset, FindsASyntheticDatasetByItsId) {
  const auto dataset =
      resolve_dataset("news-chars-512-entries-256", "output", *make_byte_tokenizer());
  EXPECT_EQ(dataset->size(), 256);
  EXPECT_EQ(dataset->name(), "news-chars-512-entries-256");
}

TEST(ResolveDataset, OpensAFile) {
  const TestFile file("d.jsonl", "{\"output\":\"a\"}\n");
  const auto dataset = resolve_dataset(file.path().string(), "output", *make_byte_tokenizer());
  EXPECT_EQ(dataset->text(0), "a");
  EXPECT_EQ(dataset->text_prefix(0, 1), "a");
}

TEST(ResolveDataset, SuggestsTheNearestId) {
  EXPECT_EQ(message_of(ErrorCode::NotFound,
                       [] {
                         static_cast<void>(resolve_dataset("news-chars-512-entries-257", "output",
                                                           *make_byte_tokenizer()));
                       }),
            "no dataset 'news-chars-512-entries-257': neither a known id nor a file - did you mean "
            "'news-chars-512-entries-256'?");
}

TEST(ResolveDataset, RefusesImagesByName) {
  EXPECT_EQ(message_of(ErrorCode::Unsupported,
                       [] {
                         static_cast<void>(resolve_dataset("vision-384x384-16384plus-entries-4096",
                                                           "output", *make_byte_tokenizer()));
                       }),
            "dataset 'vision-384x384-16384plus-entries-4096' holds images; only text datasets can "
            "be trained");
}

// DAT-07
TEST(ResolveDataset, RefusesParquetAndFolders) {
  const TestFile file("d.parquet", "PAR1");
  EXPECT_THAT(message_of(ErrorCode::Unsupported,
                         [&] {
                           static_cast<void>(resolve_dataset(file.path().string(), "output",
                                                             *make_byte_tokenizer()));
                         }),
              EndsWith("d.parquet: Parquet is not read; write JSON lines"));
  EXPECT_THAT(message_of(ErrorCode::InvalidInput,
                         [&] {
                           static_cast<void>(resolve_dataset(file.path().parent_path().string(),
                                                             "output", *make_byte_tokenizer()));
                         }),
              EndsWith(": is a folder, not a JSON lines file"));
}

}  // namespace
}  // namespace tunebench::data
