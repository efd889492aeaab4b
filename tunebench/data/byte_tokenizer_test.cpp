#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/data/tokenizer.h"

namespace tunebench::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ByteTokenizer, GivesThreePlusTheByte) {
  EXPECT_THAT(make_byte_tokenizer()->encode("aé", false), ElementsAre(100, 198, 172));
}

TEST(ByteTokenizer, AddsNoSpecialTokens) {
  EXPECT_THAT(make_byte_tokenizer()->encode("a", true), ElementsAre(100));
  EXPECT_THAT(make_byte_tokenizer()->encode("", true), IsEmpty());
}

TEST(ByteTokenizer, StopsAtTheLimit) {
  EXPECT_THAT(make_byte_tokenizer()->encode("abc", false, 2), ElementsAre(100, 101));
  EXPECT_THAT(make_byte_tokenizer()->encode("abc", false, 0), IsEmpty());
}

TEST(ByteTokenizer, HasAsManyIdsAsSpecialTokensAndBytes) {
  EXPECT_EQ(make_byte_tokenizer()->vocabulary(), 259);
  EXPECT_EQ(make_byte_tokenizer()->name(), "byte");
}

TEST(ByteTokenizer, RefusesTextThatIsNotUtf8) {
  try {
    static_cast<void>(make_byte_tokenizer()->encode("a\xff", false));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    EXPECT_EQ(error.message(), "text is not UTF-8");
  }
}

}  // namespace
}  // namespace tunebench::data
