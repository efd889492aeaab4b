#include "tunebench/data/count.h"

#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/data/testing.h"

namespace tunebench::data {
namespace {

using testing_support::message_of;
using testing_support::TextDataset;

TEST(CountTokens, GivesLeastMostTotalAndMean) {
  const TextDataset dataset({"aaa", "bbbbb", "cccccccc", "dd"});
  for (const int threads : {1, 3}) {
    const TokenCounts counts = count_tokens(dataset, *make_byte_tokenizer(), threads);
    EXPECT_EQ(counts.entries, 4);
    EXPECT_EQ(counts.min, 2);
    EXPECT_EQ(counts.max, 8);
    EXPECT_EQ(counts.total, 18);
    EXPECT_DOUBLE_EQ(counts.mean(), 4.5);
  }
}

TEST(CountTokens, CountsAnEmptyTextAsZero) {
  const TokenCounts counts = count_tokens(TextDataset({"aaa", ""}), *make_byte_tokenizer(), 1);
  EXPECT_EQ(counts.min, 0);
  EXPECT_EQ(counts.total, 3);
}

TEST(CountTokens, PassesOnWhatTheTokenizerRefuses) {
  EXPECT_EQ(
      message_of(
          ErrorCode::InvalidInput,
          [] {
            static_cast<void>(count_tokens(TextDataset({"a", "\xff"}), *make_byte_tokenizer(), 2));
          }),
      "text is not UTF-8");
}

}  // namespace
}  // namespace tunebench::data
