// The vectors are those of section 3.4 of the specification, which rounds the last p to 0.0040; its
// digits here are those of stats/compare_test.cpp.
#include "tunebench/analyze/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/analyze/environment_difference.h"
#include "tunebench/analyze/testing.h"

namespace tunebench::analyze {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Records = std::vector<record::Record>;

const experiment::Inputs kFour{{"model_name", "tiny"}, {"batch_size", 4}};
const experiment::Inputs kEight{{"model_name", "tiny"}, {"batch_size", 8}};
const std::vector<double> kA{5200, 5230, 5190, 5215, 5205};
const std::vector<double> kSlower{5110, 5125, 5095, 5120, 5105};
const std::vector<double> kSame{5195, 5225, 5180, 5220, 5210};

Comparison compared(const Records& a, const Records& b, const CompareRules& rules = {}) {
  Diagnostics problems;
  std::optional<Comparison> comparison = compare(a, b, rules, problems);
  for (const Diagnostic& problem : problems) {
    ADD_FAILURE() << problem.line();
  }
  return comparison.value_or(Comparison{});
}

std::vector<std::string> refused(const Records& a, const Records& b,
                                 const CompareRules& rules = {}) {
  Diagnostics problems;
  EXPECT_FALSE(compare(a, b, rules, problems));
  std::vector<std::string> lines;
  for (const Diagnostic& problem : problems) {
    lines.push_back(problem.line());
  }
  return lines;
}

TEST(Compare, VectorsOfTheSpecification) {
  const Comparison slower = compared(rate_records(kFour, kA), rate_records(kFour, kSlower));
  ASSERT_EQ(slower.points.size(), 1U);
  const ComparedPoint& point = slower.points[0];
  EXPECT_DOUBLE_EQ(point.first_mean, 5208);
  EXPECT_DOUBLE_EQ(point.second_mean, 5111);
  EXPECT_NEAR(*point.ratio - 1, -0.01863, 5e-6);
  EXPECT_NEAR(point.welch->t, -11.2006, 5e-5);
  EXPECT_NEAR(point.welch->degrees, 7.564, 5e-4);
  EXPECT_NEAR(point.relative->low, -0.0225, 5e-5);
  EXPECT_NEAR(point.relative->high, -0.0148, 5e-5);
  EXPECT_NEAR(*point.mann_whitney_p, 0.0079, 5e-5);
  EXPECT_EQ(change_name(slower.metric, point.change), "slower");

  const Comparison same = compared(rate_records(kFour, kA), rate_records(kFour, kSame));
  EXPECT_NEAR(same.points[0].welch->t, -0.1865, 5e-5);
  EXPECT_NEAR(same.points[0].welch->p, 0.857, 5e-4);
  EXPECT_EQ(change_name(same.metric, same.points[0].change), "same");

  const Comparison three =
      compared(rate_records(kFour, {5200, 5230, 5190}), rate_records(kFour, {5110, 5125, 5095}));
  EXPECT_NEAR(three.points[0].welch->t, -6.5255, 5e-5);
  EXPECT_NEAR(three.points[0].welch->p, 0.0039457, 5e-8);
  EXPECT_FALSE(three.points[0].mann_whitney_p);
  EXPECT_EQ(change_name(three.metric, three.points[0].change), "slower");
}

TEST(Compare, JoinsOnInputsAndNamesWhatOneSideLacks) {
  const experiment::Inputs sixteen{{"model_name", "tiny"}, {"batch_size", 16}};
  const Comparison comparison = compared(rate_records(kFour, kA) + rate_records(kEight, kA),
                                         rate_records(sixteen, kA) + rate_records(kEight, kSlower));
  ASSERT_EQ(comparison.points.size(), 1U);
  EXPECT_EQ(comparison.points[0].inputs.at("batch_size").as_int(), 8);
  ASSERT_EQ(comparison.only_first.size(), 1U);
  EXPECT_EQ(comparison.only_first[0].inputs.at("batch_size").as_int(), 4);
  ASSERT_EQ(comparison.only_second.size(), 1U);
  EXPECT_EQ(comparison.only_second[0].inputs.at("batch_size").as_int(), 16);
  EXPECT_THAT(comparison.names, ElementsAre("batch_size"));
  EXPECT_NEAR(*comparison.geomean, 5111.0 / 5208, 1e-12);
}

TEST(Compare, DifferencesBelowThePracticalLimitAreTheSame) {
  const Records a = rate_records(kFour, {1000, 1001, 999, 1000});
  const Records b = rate_records(kFour, {1008, 1009, 1007, 1008});
  EXPECT_EQ(compared(a, b).points[0].change, Change::Same);
  EXPECT_EQ(compared(a, b, {.practical = 0.005}).points[0].change, Change::Better);
}

TEST(Compare, OneValueIsTooFew) {
  const Comparison comparison =
      compared(rate_records(kFour, {100}), rate_records(kFour, {50, 51, 52}));
  EXPECT_EQ(comparison.points[0].change, Change::TooFew);
  EXPECT_NEAR(*comparison.points[0].ratio, 0.51, 1e-12);
  EXPECT_FALSE(comparison.points[0].relative);
}

TEST(Compare, CorrectsForTheNumberOfPoints) {
  // p = 0.03 alone; with nineteen more points it may be chance.
  const std::vector<double> base{100, 102, 98};
  const std::vector<double> moved{105.2, 107.2, 103.2};
  Records a = rate_records(kFour, base);
  Records b = rate_records(kFour, moved);
  EXPECT_EQ(compared(a, b).points[0].change, Change::Better);
  for (int batch = 100; batch < 119; ++batch) {
    const experiment::Inputs inputs{{"model_name", "tiny"}, {"batch_size", batch}};
    a = a + rate_records(inputs, base);
    b = b + rate_records(inputs, {101, 99, 100});
  }
  const Comparison many = compared(a, b);
  ASSERT_EQ(many.points.size(), 20U);
  EXPECT_EQ(many.points[0].change, Change::Same);
  EXPECT_NEAR(*many.points[0].corrected_p, 20 * many.points[0].welch->p, 1e-9);
}

TEST(Compare, LowerIsBetterTurnsTheVerdict) {
  const auto with_memory = [](double bytes) {
    record::Record record = rate_record(kFour, 100);
    record.set("host_peak_bytes", static_cast<std::int64_t>(bytes * 1024 * 1024 * 1024));
    return record;
  };
  const Records a{with_memory(2), with_memory(2.001), with_memory(2.002)};
  const Records b{with_memory(3), with_memory(3.001), with_memory(3.002)};
  const Comparison more = compared(a, b, {.metric = "peak_mem_gib"});
  EXPECT_EQ(change_name(more.metric, more.points[0].change), "worse");
  EXPECT_NEAR(*more.points[0].ratio, 1.5, 1e-3);
  const Comparison less = compared(b, a, {.metric = "host_peak_bytes"});
  EXPECT_EQ(change_name(less.metric, less.points[0].change), "better");
}

TEST(Compare, AMeanOfZeroHasNoRatio) {
  const auto with_faults = [](int faults) {
    record::Record record = rate_record(kFour, 100);
    record.set("page_faults_major", faults);
    return record;
  };
  const Records none{with_faults(0), with_faults(0)};
  const Records some{with_faults(90), with_faults(91)};
  const Comparison comparison = compared(none, some, {.metric = "page_faults_major"});
  EXPECT_FALSE(comparison.points[0].ratio);
  EXPECT_EQ(comparison.points[0].change, Change::Worse);
  EXPECT_FALSE(comparison.geomean);
}

TEST(Compare, TellsFailuresOfOneSide) {
  const Records failed{failed_record(kFour, record::Outcome::OomHost, "needs 3 GiB")};
  const Comparison broke = compared(rate_records(kFour, kA), failed);
  EXPECT_EQ(broke.points[0].change, Change::Failed);
  EXPECT_EQ(broke.points[0].failure, "oom_host: needs 3 GiB");
  EXPECT_EQ(compared(failed, rate_records(kFour, kA)).points[0].change, Change::Fixed);
  const Comparison partly = compared(rate_records(kFour, kA), rate_records(kFour, kSame) + failed);
  EXPECT_EQ(partly.points[0].change, Change::Same);
}

TEST(Compare, ByJoinsOnWhatIsNamed) {
  const experiment::Inputs other{{"model_name", "tiny"}, {"batch_size", 4}, {"optim", "sgd"}};
  const Records a = rate_records(kFour, kA) + rate_records(kEight, kA);
  const Comparison comparison =
      compared(a, rate_records(other, kSlower), {.by = {"model", "batch"}});
  ASSERT_EQ(comparison.points.size(), 1U);
  EXPECT_THAT(comparison.points[0].differing, ElementsAre("optim: null -> sgd"));
  EXPECT_THAT(comparison.names, ElementsAre("model_name", "batch_size"));
  EXPECT_THAT(refused(a, rate_records(kFour, kA), {.by = {"model"}}),
              ElementsAre("--by: A holds several points where one is meant: batch=4 and batch=8 - "
                          "name what tells them apart, too"));
}

TEST(Compare, RefusesOtherHardwareUnlessAsked) {
  Records b = rate_records(kFour, kSlower);
  for (record::Record& record : b) {
    record.environment.set("cores_usable", 64);
  }
  EXPECT_THAT(refused(rate_records(kFour, kA), b),
              ElementsAre("A ran on EPYC, 2 cores, B on EPYC, 64 cores: differences between "
                          "machines are no regressions - --across compares them anyway"));
  EXPECT_THAT(compared(rate_records(kFour, kA), b, {.across = true}).environment,
              ElementsAre("cores usable 2 -> 64"));
}

TEST(Compare, GpuModelAndMemoryAreTheHardware) {
  const auto on = [](const char* model, std::int64_t gib) {
    record::Record record = rate_record({{"number_gpus", 1}}, 100);
    record.environment.set(
        "gpus", Json::array({Json::object({{"model", model}, {"memory_bytes", gib << 30}})}));
    return record;
  };
  EXPECT_EQ(hardware_name(on("NVIDIA A100", 40)), "NVIDIA A100 (40.0 GiB)");
  EXPECT_THAT(refused({on("NVIDIA A100", 40)}, {on("NVIDIA A100", 80)}),
              ElementsAre(HasSubstr("A ran on NVIDIA A100 (40.0 GiB), B on NVIDIA A100 (80.0")));
}

TEST(Compare, TellsAllMistakesAtOnce) {
  EXPECT_THAT(refused(rate_records(kFour, kA), rate_records(kFour, kA),
                      {.metric = "token_per_s", .by = {"bacth"}}),
              ElementsAre("--metric: unknown metric 'token_per_s' - did you mean 'tokens_per_s'?",
                          "--by: unknown input 'bacth' - did you mean 'batch'?"));
}

TEST(Compare, NothingInCommonIsAMistake) {
  EXPECT_THAT(refused(rate_records(kFour, kA), rate_records(kEight, kA)),
              ElementsAre("A and B have no point in common that has tokens_per_s - --by joins them "
                          "on some inputs only"));
  EXPECT_THAT(refused({}, {}), ElementsAre(HasSubstr("no point in common")));
}

TEST(Compare, CountsMeasurementsOfBothSides) {
  const Records a = rate_records(kFour, kA);
  EXPECT_EQ(compared(a, a).shared_records, 5U);
  EXPECT_EQ(compared(a, rate_records(kFour, kA)).shared_records, 0U);
}

}  // namespace
}  // namespace tunebench::analyze
