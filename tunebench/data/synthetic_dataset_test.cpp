#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/data/dataset.h"
#include "tunebench/data/testing.h"
#include "tunebench/data/tokenizer.h"

namespace tunebench::data {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
using testing_support::message_of;

SyntheticSpec small_spec() {
  return {.id = "small", .entries = 4, .min_tokens = 100, .seed = 1, .min_chars = 0};
}

/// One id for every `bytes` bytes: its tokens reach over words.
class CoarseTokenizer final : public Tokenizer {
 public:
  explicit CoarseTokenizer(std::size_t bytes) : bytes_(bytes) {}
  [[nodiscard]] std::vector<std::int32_t> encode(std::string_view text, bool /*add_special*/,
                                                 std::int64_t limit) const override {
    std::size_t count = text.size() / bytes_;
    if (limit >= 0) {
      count = std::min(count, static_cast<std::size_t>(limit));
    }
    return std::vector<std::int32_t>(count, 1);
  }
  [[nodiscard]] std::int64_t vocabulary() const override { return 2; }
  [[nodiscard]] const std::string& name() const override { return name_; }

 private:
  std::size_t bytes_;
  std::string name_ = "coarse";
};

TEST(SyntheticDataset, HasTheShapeOfInstructionAndResponse) {
  const auto dataset = make_synthetic_dataset(small_spec(), *make_byte_tokenizer());
  EXPECT_EQ(dataset->size(), 4);
  EXPECT_EQ(dataset->name(), "small");
  const std::string text = dataset->text(0);
  EXPECT_THAT(text, StartsWith("### Input:\n"));
  EXPECT_THAT(text, HasSubstr("\n\n### Response: "));
}

TEST(SyntheticDataset, DependsOnSeedAndEntryOnly) {
  const auto tokenizer = make_byte_tokenizer();
  const auto dataset = make_synthetic_dataset(small_spec(), *tokenizer);
  SyntheticSpec larger = small_spec();
  larger.entries = 9;
  EXPECT_EQ(dataset->text(2), make_synthetic_dataset(larger, *tokenizer)->text(2));
  SyntheticSpec reseeded = small_spec();
  reseeded.seed = 2;
  EXPECT_NE(dataset->text(2), make_synthetic_dataset(reseeded, *tokenizer)->text(2));
  EXPECT_NE(dataset->text(2), dataset->text(3));
}

TEST(SyntheticDataset, StaysTheSameFromVersionToVersion) {
  const auto dataset = make_synthetic_dataset(small_spec(), *make_byte_tokenizer());
  EXPECT_THAT(dataset->text(0),
              StartsWith("### Input:\ndepartment common got along given turn year business\n\n### "
                         "Response: she place best stood whole"));
  EXPECT_EQ(sha256_hex(dataset->text(0)),
            "61f883a7d4888d1a367dfe3e39a0de4b492fe440fc0feaf689cad17eaf1f7857");
  EXPECT_EQ(dataset->fingerprint(),
            "e27f738edbdbf5f52d3e53779d401527a067dc8c189d74cb609792766d0adda5");
}

TEST(SyntheticDataset, GivesABeginningThatTheWholeTextContinues) {
  const auto dataset = make_synthetic_dataset(small_spec(), *make_byte_tokenizer());
  const std::string whole = dataset->text(1);
  for (const std::int64_t bytes : {1, 100, 250}) {
    const std::string prefix = dataset->text_prefix(1, bytes);
    EXPECT_GE(static_cast<std::int64_t>(prefix.size()), bytes);
    EXPECT_LT(prefix.size(), whole.size());
    EXPECT_THAT(whole, StartsWith(prefix));
  }
  EXPECT_EQ(dataset->text_prefix(1, 1'000'000), whole);
}

TEST(SyntheticDataset, HasAtLeastTheTokensAskedFor) {
  for (const std::size_t bytes : {1U, 5U, 23U}) {
    const CoarseTokenizer tokenizer(bytes);
    const auto dataset = make_synthetic_dataset(small_spec(), tokenizer);
    for (std::int64_t entry = 0; entry < dataset->size(); ++entry) {
      EXPECT_GE(tokenizer.encode(dataset->text(entry), false, -1).size(), 100U) << bytes;
    }
  }
}

TEST(SyntheticDataset, RefusesATokenizerThatGivesAlmostNothing) {
  EXPECT_THAT(message_of(ErrorCode::InvalidInput,
                         [] {
                           static_cast<void>(
                               make_synthetic_dataset(small_spec(), CoarseTokenizer(100'000)));
                         }),
              StartsWith("coarse: gives 0 tokens for 100 English words"));
}

TEST(SyntheticDataset, HasAtLeastTheCharactersAskedFor) {
  for (const SyntheticSpec& spec : synthetic_datasets()) {
    if (spec.min_chars == 0) {
      continue;
    }
    const auto dataset = make_synthetic_dataset(spec, *make_byte_tokenizer());
    const std::int64_t size = static_cast<std::int64_t>(dataset->text(7).size());
    EXPECT_GE(size, spec.min_chars) << spec.id;
    EXPECT_LT(size, spec.min_chars + 20) << spec.id;
  }
}

TEST(SyntheticDataset, KnowsTheTextDatasetsOfTheReferenceSystem) {
  std::set<std::string> ids;
  for (const SyntheticSpec& spec : synthetic_datasets()) {
    ids.insert(spec.id);
    EXPECT_THAT(spec.id, EndsWith("-entries-" + std::to_string(spec.entries)));
  }
  EXPECT_EQ(ids.size(), 12U);
  EXPECT_TRUE(ids.contains("news-chars-512-entries-256"));
  EXPECT_TRUE(ids.contains("news-tokens-16384plus-entries-4096"));
  EXPECT_TRUE(ids.contains("news-tokens-128kplus-entries-320"));
}

TEST(SyntheticDataset, RefusesNumbersOutOfRange) {
  SyntheticSpec spec = small_spec();
  spec.entries = 0;
  EXPECT_EQ(
      message_of(ErrorCode::InvalidInput,
                 [&] { static_cast<void>(make_synthetic_dataset(spec, *make_byte_tokenizer())); }),
      "a synthetic dataset has 1 to 2147483648 entries, not 0");
}

TEST(SyntheticDataset, WritesWhatItHolds) {
  const TemporaryFolder folder;
  const auto tokenizer = make_byte_tokenizer();
  const std::filesystem::path file = folder.path() / "new" / "s.jsonl";
  const std::int64_t bytes = write_synthetic_dataset(small_spec(), *tokenizer, file);
  EXPECT_EQ(static_cast<std::int64_t>(std::filesystem::file_size(file)), bytes);
  const auto read = open_jsonl_dataset(file, "output");
  const auto made = make_synthetic_dataset(small_spec(), *tokenizer);
  ASSERT_EQ(read->size(), made->size());
  for (std::int64_t entry = 0; entry < made->size(); ++entry) {
    EXPECT_EQ(read->text(entry), made->text(entry));
  }
  const std::filesystem::path again = folder.path() / "again.jsonl";
  write_synthetic_dataset(small_spec(), *tokenizer, again);
  EXPECT_EQ(read_file(again), read_file(file));
}

TEST(SyntheticDataset, LeavesNothingBehindWhenItCannotBeWritten) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "file", "x");
  EXPECT_THAT(message_of(ErrorCode::Io,
                         [&] {
                           write_synthetic_dataset(small_spec(), *make_byte_tokenizer(),
                                                   folder.path() / "file" / "s.jsonl");
                         }),
              HasSubstr("s.jsonl: cannot make its folder"));
}

}  // namespace
}  // namespace tunebench::data
