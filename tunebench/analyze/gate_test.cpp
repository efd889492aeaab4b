// The three outcomes of section 3.4 of the project's specification.
#include "tunebench/analyze/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/analyze/testing.h"

namespace tunebench::analyze {
namespace {

using Records = std::vector<record::Record>;

const experiment::Inputs kPoint{{"batch_size", 4}};
const std::vector<double> kBase{5200, 5230, 5190, 5215, 5205};
const std::vector<double> kBelow{5110, 5125, 5095, 5120, 5105};

Gate gate_of(std::string_view text) {
  Diagnostics problems;
  const std::optional<Gate> gate = parse_gate(text, "--fail-if", problems);
  EXPECT_TRUE(gate) << text << ": " << (problems.empty() ? "" : problems[0].line());
  return gate.value_or(Gate{});
}

Comparison comparison_of(const Records& a, const Records& b, const std::string& metric) {
  Diagnostics problems;
  std::optional<Comparison> comparison = compare(a, b, {.metric = metric}, problems);
  EXPECT_TRUE(comparison) << problems.at(0).line();
  return *comparison;
}

GateState state_of(std::string_view text, const Records& a, const Records& b) {
  const Gate gate = gate_of(text);
  return judge(gate, comparison_of(a, b, gate.metric.name)).state;
}

TEST(Gate, PassesFailsOrIsUncertainByTheWholeInterval) {
  const Records a = rate_records(kPoint, kBase);
  const Records b = rate_records(kPoint, kBelow);
  EXPECT_EQ(state_of("tokens_per_s < -3%", a, b), GateState::Passed);
  EXPECT_EQ(state_of("tokens_per_s < -1%", a, b), GateState::Failed);
  EXPECT_EQ(state_of("tokens_per_s < -2%", a, b), GateState::Uncertain);
}

TEST(Gate, SaysWhy) {
  const Comparison comparison =
      comparison_of(rate_records(kPoint, kBase), rate_records(kPoint, kBelow), "tokens_per_s");
  const GateResult result = judge(gate_of("tokens_per_s < -1%"), comparison);
  ASSERT_EQ(result.points.size(), 1U);
  EXPECT_EQ(result.points[0].why, "-1.86 % [-2.25 %, -1.48 %]");
}

TEST(Gate, LimitsFromAboveWork) {
  const Records a = rate_records(kPoint, kBelow);
  const Records b = rate_records(kPoint, kBase);
  EXPECT_EQ(state_of("tokens_per_s > 1%", a, b), GateState::Failed);
  EXPECT_EQ(state_of("tokens_per_s > +3%", a, b), GateState::Passed);
  EXPECT_EQ(state_of("tokens_per_s>2%", a, b), GateState::Uncertain);
}

TEST(Gate, TooFewValuesAreUncertain) {
  EXPECT_EQ(state_of("tokens_per_s < -3%", rate_records(kPoint, {100}), rate_records(kPoint, {50})),
            GateState::Uncertain);
}

TEST(Gate, APointThatOnlyFailsNowFails) {
  const Records broken{failed_record(kPoint, record::Outcome::Crashed, "signal 11")};
  EXPECT_EQ(state_of("tokens_per_s < -3%", rate_records(kPoint, kBase), broken), GateState::Failed);
  EXPECT_EQ(state_of("tokens_per_s < -3%", broken, rate_records(kPoint, kBase)), GateState::Passed);
}

TEST(Gate, OneOfManyPointsDoesNotFailByChance) {
  // Its own interval lies just beyond the limit: p is 0.04 for it alone.
  const std::vector<double> base{100, 101, 99, 100};
  const std::vector<double> below{97.3, 98.3, 96.3, 97.3};
  Records a = rate_records(kPoint, base);
  Records b = rate_records(kPoint, below);
  EXPECT_EQ(state_of("tokens_per_s < -1%", a, b), GateState::Failed);
  for (int batch = 10; batch < 20; ++batch) {
    a = a + rate_records({{"batch_size", batch}}, base);
    b = b + rate_records({{"batch_size", batch}}, {101.5, 102.5, 100.5, 101.5});
  }
  EXPECT_EQ(state_of("tokens_per_s < -1%", a, b), GateState::Uncertain);
  const std::vector<double> far{80, 81, 79, 80};
  b = rate_records(kPoint, far) + Records(b.begin() + 4, b.end());
  EXPECT_EQ(state_of("tokens_per_s < -1%", a, b), GateState::Failed);
}

TEST(Gate, IsReadStrictly) {
  EXPECT_DOUBLE_EQ(gate_of(" tokens_per_s  <  -3 % ").limit, -0.03);
  EXPECT_FALSE(gate_of("peak_mem_gib > 5%").below);
  EXPECT_EQ(gate_of("tokens_per_s < -3%").short_text(), "-3%");
  EXPECT_EQ(gate_of("peak_mem_gib > 2.5%").short_text(), "+2.5%");
  Diagnostics problems;
  for (const char* text :
       {"tokens_per_s", "token_per_s < -3%", "tokens_per_s < -3", "tokens_per_s < x%",
        "tokens_per_s <= -3%", "tokens_per_s < -100%", "steps < -1%", ""}) {
    EXPECT_FALSE(parse_gate(text, "--fail-if", problems)) << text;
  }
  ASSERT_EQ(problems.size(), 8U);
  EXPECT_EQ(problems[0].line(),
            "--fail-if: 'tokens_per_s' is no limit - write it as 'tokens_per_s < -3%': a metric, < "
            "or >, a change in percent");
  EXPECT_EQ(problems[1].line(),
            "--fail-if: unknown metric 'token_per_s' - did you mean 'tokens_per_s'?");
  EXPECT_EQ(problems[2].line(),
            "--fail-if: '-3' is no change in percent - write it as 'tokens_per_s < -3%'");
}

}  // namespace
}  // namespace tunebench::analyze
