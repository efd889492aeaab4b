#include "tunebench/data/pattern.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/data/pattern_part.h"
#include "tunebench/data/testing.h"

namespace tunebench::data {
namespace {

using testing::ElementsAre;
using testing_support::message_of;

std::vector<std::string> matches(std::string_view expression, std::string_view text) {
  std::vector<std::string> found;
  for_each_match(Pattern::regex(expression), text, [&](Span span) {
    found.emplace_back(span.of(text));
    return true;
  });
  return found;
}

std::string pattern_refusal(std::string_view expression) {
  return message_of(ErrorCode::Unsupported,
                    [&] { static_cast<void>(pcre2_expression(expression)); });
}

TEST(Pattern, KnowsUnicodeLettersDigitsAndSpace) {
  EXPECT_THAT(matches(R"(\p{L}+|\p{N}+)", "héé 12½ ж"), ElementsAre("héé", "12½", "ж"));
  EXPECT_THAT(matches(R"(\s+)", "a\u3000\u0085b\u180Ec"), ElementsAre("\u3000\u0085"));
  EXPECT_THAT(matches(R"([^\s]+)", "a\u3000\u180E"), ElementsAre("a", "\u180E"));
  EXPECT_THAT(matches(R"([\S]+)", "a\u3000\u180E"), ElementsAre("a", "\u180E"));
}

TEST(Pattern, CountsMarksAsWordCharacters) {
  EXPECT_THAT(matches(R"(\w+)", "e\u0301_1-x"), ElementsAre("e\u0301_1", "x"));
  EXPECT_THAT(matches(R"(\W+)", "a--b"), ElementsAre("--"));
}

TEST(Pattern, LooksAheadAndIgnoresCaseInsideAGroup) {
  EXPECT_THAT(matches(R"(\s+(?!\S)|\s+)", "a   b "), ElementsAre("  ", " ", " "));
  EXPECT_THAT(matches("(?i:'s|'LL)", "it'S we'll"), ElementsAre("'S", "'ll"));
}

TEST(Pattern, AnchorsAtEveryLine) {
  EXPECT_THAT(matches("^a|b$", "ab\nab"), ElementsAre("a", "b", "a", "b"));
  EXPECT_THAT(matches(".+", "a\rb\nc"), ElementsAre("a\rb", "c"));
}

TEST(Pattern, StepsOverEmptyMatches) {
  EXPECT_THAT(matches("x*", "axé"), ElementsAre("", "x", ""));
}

TEST(Pattern, FindsALiteralAsItStands) {
  const Pattern pattern = Pattern::literal(".*");
  EXPECT_FALSE(pattern.find("abc", 0));
  EXPECT_EQ(pattern.find("a.*", 0)->begin, 1U);
}

TEST(Pattern, MatchesLongTexts) {
  const std::string text(1'000'000, 'a');
  EXPECT_EQ(Pattern::regex(R"((?:a|b)+)").find(text, 0)->end, text.size());
  EXPECT_EQ(Pattern::regex(R"([^\r\n]+(?!\S))").find(text, 0)->end, text.size());
}

TEST(Pattern, RefusesWhatMeansSomethingElseHere) {
  EXPECT_EQ(pattern_refusal(R"(a\h)"), R"('\h' is not supported in the expression 'a\h')");
  EXPECT_EQ(pattern_refusal("[a&&b]"),
            "'&& inside []' is not supported in the expression '[a&&b]'");
  EXPECT_EQ(pattern_refusal("[a[bc]]"),
            "'[ inside []' is not supported in the expression '[a[bc]]'");
  EXPECT_EQ(pattern_refusal("a{1,3}+"), "'{1,3}+' is not supported in the expression 'a{1,3}+'");
  EXPECT_EQ(pattern_refusal("(?m)a"), "'(?m' is not supported in the expression '(?m)a'");
  EXPECT_EQ(pattern_refusal(R"(\xE9)"),
            R"('\x without {}' is not supported in the expression '\xE9')");
}

TEST(Pattern, RefusesAnExpressionThatIsWrong) {
  EXPECT_EQ(message_of(ErrorCode::InvalidInput, [] { static_cast<void>(Pattern::regex("(a")); }),
            "the expression '(a' is wrong: missing closing parenthesis");
}

}  // namespace
}  // namespace tunebench::data
