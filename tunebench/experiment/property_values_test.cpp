#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/experiment/property.h"

namespace tunebench::experiment {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct ParsedList {
  std::vector<Json> values;
  std::vector<std::string> lines;
};

ParsedList parse_list(std::string_view name, std::string_view text) {
  Diagnostics problems;
  ParsedList parsed;
  parsed.values = parse_values(*find_property(name), text, "", problems);
  for (const Diagnostic& problem : problems) {
    parsed.lines.push_back(problem.line());
  }
  return parsed;
}

std::vector<Json> good(std::string_view name, std::string_view text) {
  ParsedList parsed = parse_list(name, text);
  EXPECT_THAT(parsed.lines, IsEmpty()) << text;
  return parsed.values;
}

TEST(ParseValuesTest, ReadsOneValue) {
  EXPECT_THAT(good("batch_size", "4"), ElementsAre(4));
}

TEST(ParseValuesTest, ReadsLists) {
  EXPECT_THAT(good("model_max_length", "512,1024"), ElementsAre(512, 1024));
  EXPECT_THAT(good("model_max_length", "1024, 512"), ElementsAre(1024, 512));
  EXPECT_THAT(good("torch_dtype", "float32,bfloat16"), ElementsAre("float32", "bfloat16"));
  EXPECT_THAT(good("gradient_checkpointing", "on,off"), ElementsAre(true, false));
}

TEST(ParseValuesTest, ReadsRangesWithBothEnds) {
  EXPECT_THAT(good("batch_size", "1..4"), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(good("model_max_length", "512..2048:512"), ElementsAre(512, 1024, 1536, 2048));
  EXPECT_THAT(good("batch_size", "1..8:3"), ElementsAre(1, 4, 7));
  EXPECT_THAT(good("max_steps", "-1..1"), ElementsAre(-1, 0, 1));
  EXPECT_THAT(good("batch_size", "5..5"), ElementsAre(5));
}

TEST(ParseValuesTest, RangesOfRealsNeedAStepAndGiveRoundNumbers) {
  EXPECT_THAT(good("warmup_ratio", "0..0.4:0.1"), ElementsAre(0.0, 0.1, 0.2, 0.3, 0.4));
  EXPECT_THAT(parse_list("warmup_ratio", "0..1").lines,
              ElementsAre("warmup_ratio: '0..1' needs a step - write 0..1:STEP or 0..1*FACTOR"));
  EXPECT_THAT(good("num_train_epochs", "1..3"), ElementsAre(1.0, 2.0, 3.0));
}

TEST(ParseValuesTest, RangesGrowByAFactor) {
  EXPECT_THAT(good("learning_rate", "1e-6..1e-3*10"), ElementsAre(1e-6, 1e-5, 1e-4, 1e-3));
  EXPECT_THAT(good("batch_size", "1..20*2"), ElementsAre(1, 2, 4, 8, 16));
  EXPECT_THAT(parse_list("batch_size", "1..8*1").lines,
              ElementsAre("batch_size: '1..8*1' needs a factor above 1"));
  EXPECT_THAT(parse_list("batch_size", "1..8*x").lines,
              ElementsAre("batch_size: the factor of '1..8*x' must be a number above 1"));
  EXPECT_THAT(parse_list("learning_rate", "0..1*10").lines,
              ElementsAre("learning_rate: '0..1*10' must begin above 0 to grow by a factor"));
}

TEST(ParseValuesTest, MixesValuesAndRangesAndDropsDoubles) {
  EXPECT_THAT(good("batch_size", "1..3,8,2"), ElementsAre(1, 2, 3, 8));
}

TEST(ParseValuesTest, ReadsManyValuesInShortTime) {
  EXPECT_EQ(good("model_max_length", "1..131072").size(), 131072U);
}

TEST(ParseValuesTest, PathsMayHoldDotsAndEscapedCommas) {
  EXPECT_THAT(good("model_name", "../a,b"), ElementsAre("../a", "b"));
  EXPECT_THAT(good("model_name", R"(a\,b)"), ElementsAre("a,b"));
  EXPECT_THAT(good("model_name", R"(["a,b", "c"])"), ElementsAre("a,b", "c"));
  EXPECT_THAT(good("model_name", "[x"), ElementsAre("[x"));
}

TEST(ParseValuesTest, ListPropertiesTakeOneListOrAListOfLists) {
  const Json kernels = Json::array({"True", "True", "True"});
  EXPECT_THAT(good("fast_kernels", R"(["True","True","True"])"), ElementsAre(kernels));
  EXPECT_THAT(good("fast_kernels", R"([null, ["True","True","True"]])"),
              ElementsAre(Json(), kernels));
  EXPECT_THAT(good("fast_kernels", "null"), ElementsAre(Json()));
}

TEST(ParseValuesTest, ReportsAllMistakesOfAList) {
  EXPECT_THAT(parse_list("batch_size", "0,4,x,9999").lines,
              ElementsAre("batch_size is 0 but must be 1 … 4096 - nearest: 1",
                          "batch_size is 'x' but must be a whole number, 1 … 4096",
                          "batch_size is 9999 but must be 1 … 4096 - nearest: 4096"));
}

TEST(ParseValuesTest, RefusesAThousandsSeparatorAsALeadingZero) {
  EXPECT_THAT(parse_list("model_max_length", "1,024").lines,
              ElementsAre("model_max_length is '024' but must be a whole number, 1 … 131072"));
}

TEST(ParseValuesTest, RefusesEmptyPlaces) {
  EXPECT_THAT(parse_list("batch_size", "4,,8").lines,
              ElementsAre("batch_size is '4,,8', which has an empty place between commas"));
  EXPECT_THAT(parse_list("batch_size", "").lines,
              ElementsAre("batch_size is '' but must be a whole number, 1 … 4096"));
  EXPECT_THAT(parse_list("batch_size", "[]").lines, ElementsAre("batch_size has no value"));
}

TEST(ParseValuesTest, RefusesBrokenRanges) {
  EXPECT_THAT(parse_list("batch_size", "8..1").lines,
              ElementsAre("batch_size: '8..1' runs backwards - write 1..8"));
  EXPECT_THAT(
      parse_list("batch_size", "1..").lines,
      ElementsAre("batch_size: '1..' is not a range - write 1..8, 512..2048:512 or 1e-6..1e-3*10"));
  EXPECT_THAT(parse_list("batch_size", "1..8:0").lines,
              ElementsAre("batch_size: the step of '1..8:0' must be a number above 0"));
  EXPECT_THAT(parse_list("batch_size", "1..8:x").lines,
              ElementsAre("batch_size: the step of '1..8:x' must be a number above 0"));
}

TEST(ParseValuesTest, RangeOutOfTheDomainIsOneMistakeAnEnd) {
  EXPECT_THAT(parse_list("batch_size", "0..5000").lines,
              ElementsAre("batch_size is 0 but must be 1 … 4096 - nearest: 1",
                          "batch_size is 5000 but must be 1 … 4096 - nearest: 4096"));
}

TEST(ParseValuesTest, RefusesAbsurdRanges) {
  EXPECT_THAT(parse_list("seed", "0..1e12").lines,
              ElementsAre("seed: '0..1e12' is 1000000000001 values, more than 1000000"));
}

TEST(ParseValuesTest, RefusesAStepThatLeavesTheGrid) {
  EXPECT_THAT(
      parse_list("batch_size", "1..3:0.5").lines,
      ElementsAre("batch_size is 1.5 but must be a whole number, 1 … 4096 - nearest: 1, 2"));
}

}  // namespace
}  // namespace tunebench::experiment
