#include "tunebench/data/unicode.h"

#include <string>

#include <gtest/gtest.h>

namespace tunebench::data {
namespace {

TEST(Unicode, ReadsAndWritesCodePointsOfEveryLength) {
  for (const char32_t point : {U'a', U'\u00e9', U'\u20ac', U'\U0001F600', U'\U0010FFFF'}) {
    std::string text;
    append_code_point(text, point);
    EXPECT_EQ(code_point_length(text[0]), text.size());
    std::size_t at = 0;
    EXPECT_EQ(next_code_point(text, at), point);
    EXPECT_EQ(at, text.size());
  }
}

TEST(Unicode, KnowsWhiteSpaceBeyondAscii) {
  EXPECT_TRUE(is_white_space(U'\v'));
  EXPECT_TRUE(is_white_space(U'\u0085'));
  EXPECT_TRUE(is_white_space(U'\u3000'));
  EXPECT_FALSE(is_white_space(U'\u180e'));
  EXPECT_FALSE(is_white_space(U'\u200b'));
}

TEST(Unicode, KnowsWordCharacters) {
  EXPECT_TRUE(is_word(U'\u0301'));
  EXPECT_TRUE(is_word(U'_'));
  EXPECT_TRUE(is_word(U'\u24b6'));
  EXPECT_FALSE(is_word(U'\u00bd'));
  EXPECT_FALSE(is_word(U'-'));
}

TEST(Unicode, KnowsNumbersPunctuationAndMarks) {
  EXPECT_TRUE(is_numeric(U'\u0664'));
  EXPECT_TRUE(is_numeric(U'\u00bd'));
  EXPECT_FALSE(is_numeric(U'a'));
  EXPECT_TRUE(is_punctuation(U'$'));
  EXPECT_TRUE(is_punctuation(U'\u3002'));
  EXPECT_FALSE(is_punctuation(U'\u20ac'));
  EXPECT_TRUE(is_mark(U'\u0301'));
  EXPECT_FALSE(is_mark(U'e'));
}

TEST(Unicode, NormalizesInFourForms) {
  EXPECT_EQ(normal_form("e\xCC\x81", NormalForm::Nfc), "\xC3\xA9");
  EXPECT_EQ(normal_form("\xC3\xA9", NormalForm::Nfd), "e\xCC\x81");
  EXPECT_EQ(normal_form("\xEF\xAC\x81", NormalForm::Nfc), "\xEF\xAC\x81");
  EXPECT_EQ(normal_form("\xEF\xAC\x81\xC3\xA9", NormalForm::Nfkc), "fi\xC3\xA9");
  EXPECT_EQ(normal_form("\xEF\xAC\x81\xC3\xA9", NormalForm::Nfkd), "fie\xCC\x81");
}

TEST(Unicode, LowersLetterByLetter) {
  EXPECT_EQ(lower_case("A\xC3\x89\xCE\xA3z"), "a\xC3\xA9\xCF\x83z");
  EXPECT_EQ(lower_case("\xC4\xB0"), "i\xCC\x87");
}

}  // namespace
}  // namespace tunebench::data
