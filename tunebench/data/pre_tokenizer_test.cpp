#include "tunebench/data/pre_tokenizer.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/json.h"
#include "tunebench/data/json_part.h"
#include "tunebench/data/testing.h"

namespace tunebench::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Collector final : public PieceSink {
 public:
  explicit Collector(std::size_t enough) : enough_(enough) {}
  bool take(std::string_view piece, bool /*at_start*/) override {
    pieces.emplace_back(piece);
    return pieces.size() < enough_;
  }
  std::vector<std::string> pieces;

 private:
  std::size_t enough_;
};

std::vector<std::string> pieces_of(std::string_view step, std::string_view text,
                                   std::size_t enough = 1000) {
  const Json json = Json::parse(step, "test");
  const PreTokenizers steps = parse_pre_tokenizers(JsonPart(json, "t.json", "pre_tokenizer"));
  Collector collector(enough);
  cut_by_all(steps, text, true, collector);
  return collector.pieces;
}

std::vector<std::string> split_at_dashes(std::string_view behavior, std::string_view text,
                                         bool invert = false) {
  return pieces_of(R"({"type":"Split","pattern":{"String":"-"},"behavior":")" +
                       std::string(behavior) + R"(","invert":)" + (invert ? "true}" : "false}"),
                   text);
}

TEST(PreTokenizer, SplitsWithEachBehavior) {
  EXPECT_THAT(split_at_dashes("Removed", "a--b-c"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split_at_dashes("Isolated", "a--b-c"), ElementsAre("a", "-", "-", "b", "-", "c"));
  EXPECT_THAT(split_at_dashes("MergedWithPrevious", "-a--b-c"),
              ElementsAre("-", "a-", "-", "b-", "c"));
  EXPECT_THAT(split_at_dashes("MergedWithNext", "a--b-c-"), ElementsAre("a", "-", "-b", "-c", "-"));
  EXPECT_THAT(split_at_dashes("Contiguous", "a--b-c"), ElementsAre("a", "--", "b", "-", "c"));
}

TEST(PreTokenizer, InvertsWhatMatches) {
  EXPECT_THAT(split_at_dashes("Removed", "a--b-c", true), ElementsAre("-", "-", "-"));
}

TEST(PreTokenizer, StopsWhenNoMoreIsWanted) {
  constexpr std::string_view kSplit =
      R"({"type":"Split","pattern":{"String":"-"},"behavior":"Isolated"})";
  EXPECT_THAT(pieces_of(kSplit, "a--b-c", 2), ElementsAre("a", "-"));
  EXPECT_THAT(pieces_of(R"({"type":"WhitespaceSplit"})", "a b c", 2), ElementsAre("a", "b"));
}

TEST(PreTokenizer, CutsDigitsAloneOrTogether) {
  EXPECT_THAT(pieces_of(R"({"type":"Digits","individual_digits":true})", "a12½b"),
              ElementsAre("a", "1", "2", "½", "b"));
  EXPECT_THAT(pieces_of(R"({"type":"Digits","individual_digits":false})", "a12b"),
              ElementsAre("a", "12", "b"));
}

TEST(PreTokenizer, CutsWordsPunctuationAndDelimiters) {
  EXPECT_THAT(pieces_of(R"({"type":"Whitespace"})", " it's  a_b --"),
              ElementsAre("it", "'", "s", "a_b", "--"));
  EXPECT_THAT(pieces_of(R"({"type":"Punctuation","behavior":"Isolated"})", "a,.b"),
              ElementsAre("a", ",", ".", "b"));
  EXPECT_THAT(pieces_of(R"({"type":"BertPreTokenizer"})", "a, b"), ElementsAre("a", ",", "b"));
  EXPECT_THAT(pieces_of(R"({"type":"CharDelimiterSplit","delimiter":"é"})", "aébéé"),
              ElementsAre("a", "b"));
}

TEST(PreTokenizer, ChainsSteps) {
  EXPECT_THAT(pieces_of(R"({"type":"Sequence","pretokenizers":[
                  {"type":"Digits","individual_digits":true},
                  {"type":"ByteLevel","add_prefix_space":false,"use_regex":true}]})",
                        "in 2 é"),
              ElementsAre("in", "Ġ", "2", "ĠÃ©"));
  EXPECT_THAT(pieces_of(R"({"type":"WhitespaceSplit"})", "  "), IsEmpty());
}

TEST(PreTokenizer, RefusesABehaviorItDoesNotKnow) {
  EXPECT_EQ(
      testing_support::message_of(ErrorCode::Unsupported, [] { split_at_dashes("Doubled", "a"); }),
      "t.json: pre_tokenizer 'Split' has the behavior 'Doubled', which is not supported");
}

}  // namespace
}  // namespace tunebench::data
