#include "tunebench/experiment/property.h"

#include <limits>

#include <gtest/gtest.h>

namespace tunebench::experiment {
namespace {

struct Parsed {
  std::optional<Json> value;
  std::string line;  ///< of the first problem
  std::size_t problems = 0;
};

Parsed parse(std::string_view name, std::string_view text) {
  Diagnostics problems;
  Parsed parsed;
  parsed.value = parse_value(*find_property(name), text, "", problems);
  parsed.problems = problems.size();
  parsed.line = problems.empty() ? "" : problems.front().line();
  return parsed;
}

std::string line_of(std::string_view name, const Json& value) {
  Diagnostics problems;
  EXPECT_EQ(check_value(*find_property(name), value, "", problems), std::nullopt);
  return problems.empty() ? "" : problems.front().line();
}

TEST(ParseValueTest, ReadsWholeNumbersHoweverTheyAreWritten) {
  for (const char* text : {"1000", "1000.0", "1e3"}) {
    const Parsed parsed = parse("batch_size", text);
    ASSERT_TRUE(parsed.value) << text << ": " << parsed.line;
    EXPECT_TRUE(parsed.value->is_int()) << text;
    EXPECT_EQ(parsed.value->as_int(), 1000);
  }
}

// CLI-01
TEST(ParseValueTest, FourSpellingsOfARateAreOneNumber) {
  for (const char* text : {"1e-5", "1E-5", "1.0e-5", "0.00001"}) {
    EXPECT_EQ(parse("learning_rate", text).value, Json(1e-5)) << text;
  }
}

TEST(ParseValueTest, RealPropertiesAreKeptAsReals) {
  const Parsed parsed = parse("num_train_epochs", "2");
  ASSERT_TRUE(parsed.value);
  EXPECT_EQ(parsed.value->kind(), Json::Kind::Real);
}

TEST(ParseValueTest, RefusesNumbersOutOfRangeWithTheNearest) {
  EXPECT_EQ(parse("batch_size", "0").line, "batch_size is 0 but must be 1 … 4096 - nearest: 1");
  EXPECT_EQ(parse("batch_size", "-1").line, "batch_size is -1 but must be 1 … 4096 - nearest: 1");
  EXPECT_EQ(parse("batch_size", "5000").line,
            "batch_size is 5000 but must be 1 … 4096 - nearest: 4096");
  EXPECT_EQ(parse("model_max_length", "131073").line,
            "model_max_length is 131073 but must be 1 … 131072 - nearest: 131072");
  EXPECT_EQ(parse("warmup_ratio", "1.5").line,
            "warmup_ratio is 1.5 but must be 0 … 1 - nearest: 1");
  EXPECT_EQ(parse("warmup_ratio", "-0.1").line,
            "warmup_ratio is -0.1 but must be 0 … 1 - nearest: 0");
  EXPECT_EQ(parse("learning_rate", "-1").line,
            "learning_rate is -1 but must be 0 or more - nearest: 0");
}

TEST(ParseValueTest, TakesBothEndsOfARange) {
  EXPECT_EQ(parse("warmup_ratio", "0").value, Json(0.0));
  EXPECT_EQ(parse("warmup_ratio", "1").value, Json(1.0));
  EXPECT_EQ(parse("batch_size", "4096").value, Json(4096));
  EXPECT_EQ(parse("learning_rate", "1e30").value, Json(1e30));
}

TEST(ParseValueTest, RefusesFractionsWithBothNeighbours) {
  EXPECT_EQ(parse("batch_size", "1.5").line,
            "batch_size is 1.5 but must be a whole number, 1 … 4096 - nearest: 1, 2");
  EXPECT_EQ(parse("num_train_epochs", "2.5").line,
            "num_train_epochs is 2.5 but must be a whole number, 1 … 10000 - nearest: 2, 3");
}

TEST(ParseValueTest, RefusesWhatIsNotANumber) {
  for (const char* text : {"fast", "2_000", "0x10", "1:30", "\"1e-5\"", "", "08"}) {
    const Parsed parsed = parse("learning_rate", text);
    EXPECT_FALSE(parsed.value) << text;
    EXPECT_EQ(parsed.line,
              std::string("learning_rate is '") + text + "' but must be a number, 0 or more");
  }
}

TEST(ParseValueTest, RefusesNumbersThatAreNotFinite) {
  EXPECT_FALSE(parse("learning_rate", "nan").value);
  EXPECT_FALSE(parse("learning_rate", "inf").value);
  EXPECT_EQ(line_of("learning_rate", Json(std::numeric_limits<double>::quiet_NaN())),
            "learning_rate is nan but must be 0 or more");
}

TEST(ParseValueTest, RefusesNumbersThatDoNotFit) {
  EXPECT_EQ(parse("seed", "9223372036854775807").value,
            Json(std::numeric_limits<std::int64_t>::max()));
  EXPECT_EQ(parse("seed", "1e19").line, "seed is 1e+19, which is too large");
}

TEST(ParseValueTest, ReadsBooleansInEightWords) {
  for (const char* text : {"true", "yes", "on", "1", "True"}) {
    EXPECT_EQ(parse("gradient_checkpointing", text).value, Json(true)) << text;
  }
  for (const char* text : {"false", "no", "off", "0", "NO"}) {
    EXPECT_EQ(parse("gradient_checkpointing", text).value, Json(false)) << text;
  }
  EXPECT_EQ(parse("gradient_checkpointing", "maybe").line,
            "gradient_checkpointing is 'maybe' but must be true or false");
}

// CLI-01
TEST(ParseValueTest, TheWordNoStaysAWordWhereItIsAName) {
  EXPECT_EQ(parse("accelerate_config_mixed_precision", "no").value, Json("no"));
}

TEST(ParseValueTest, NullIsAllowedOnlyWhereTheDomainHasIt) {
  EXPECT_EQ(parse("response_template", "null").value, Json());
  EXPECT_EQ(parse("gpu_model", "None").value, Json());
  EXPECT_EQ(parse("distributed_backend", "None").value, Json("None"));
  EXPECT_EQ(parse("torch_dtype", "null").line,
            "torch_dtype is 'null' but must be one of bfloat16, float16, float32");
}

TEST(ParseValueTest, RefusesUnknownWordsWithTheNearest) {
  EXPECT_EQ(
      parse("torch_dtype", "bfloat61").line,
      "torch_dtype is 'bfloat61' but must be one of bfloat16, float16, float32 - did you mean "
      "'bfloat16'?");
  EXPECT_EQ(parse("optim", "adamw_troch").line,
            "optim is 'adamw_troch' but must be one of 38 values - did you mean 'adamw_torch'?");
  EXPECT_EQ(parse("trainer", "torch").line,
            "trainer is 'torch' but must be one of native, simulated, command, hf, fms-hf-tuning");
}

TEST(ParseValueTest, OpenPropertiesTakeAnyText) {
  for (const char* text : {"../models/x", "mod el", "modèle-模型-🦙", "it's \"q\"", "-dash"}) {
    EXPECT_EQ(parse("model_name", text).value, Json(text));
  }
}

TEST(ParseValueTest, RefusesEmptyAndBrokenTexts) {
  EXPECT_EQ(parse("model_name", "").line, "model_name is an empty text - leave it out");
  EXPECT_EQ(parse("model_name", "a\xff").line, "model_name is 'a\\xFF', which is not UTF-8");
}

TEST(ParseValueTest, ReadsListsAsJson) {
  EXPECT_EQ(parse("fast_kernels", R"(["True","True","True"])").value,
            Json::array({"True", "True", "True"}));
  EXPECT_EQ(parse("fast_kernels", "null").value, Json());
  EXPECT_EQ(parse("fast_kernels", "True").line,
            "fast_kernels is 'True' but must be a list of texts");
  EXPECT_EQ(parse("fast_kernels", R"(["True"])").line,
            R"(fast_kernels is ["True"] but must be one of null, ["True","True","True"])");
}

TEST(ParseValueTest, SaysWhereTheValueWas) {
  Diagnostics problems;
  parse_value(*find_property("batch_size"), "0", "--batch", problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_EQ(problems[0].line(), "--batch: batch_size is 0 but must be 1 … 4096 - nearest: 1");
}

TEST(CheckValueTest, RefusesOtherTypes) {
  EXPECT_EQ(line_of("batch_size", Json("4")),
            "batch_size is '4' but must be a whole number, 1 … 4096");
  EXPECT_EQ(line_of("batch_size", Json(true)),
            "batch_size is true but must be a whole number, 1 … 4096");
  EXPECT_EQ(line_of("model_name", Json(4)), "model_name is 4 but must be a text");
  EXPECT_EQ(line_of("bf16", Json(1)), "bf16 is 1 but must be true or false");
}

}  // namespace
}  // namespace tunebench::experiment
