#include "tunebench/report/summary.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/experiment/property.h"
#include "tunebench/experiment/short_name.h"

namespace tunebench::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

store::RunRecord attempt(int length, int batch, double rate, bool reused = false) {
  store::RunRecord attempt;
  attempt.reused = reused;
  record::Record& record = attempt.record;
  record.key = std::to_string(length) + "/" + std::to_string(batch);
  for (const experiment::Property& property : experiment::properties()) {
    record.inputs[property.name] = property.default_value;
  }
  record.inputs["model_name"] = "tiny";
  record.inputs["model_max_length"] = length;
  record.inputs["batch_size"] = batch;
  record.set("tokens_per_s", rate);
  record.set("host_peak_bytes", std::int64_t{3} << 30);
  record.set("weights", "random");
  return attempt;
}

store::RunRecord failure(int length, int batch, record::Outcome outcome, std::string reason) {
  store::RunRecord failed = attempt(length, batch, 0);
  failed.record.measured.clear();
  failed.record.status = outcome;
  failed.record.reason = std::move(reason);
  return failed;
}

TEST(Summarise, GroupsRepeatsOfAPointAndKeepsTheOrder) {
  const std::vector<store::RunRecord> records{attempt(512, 4, 5200), attempt(256, 4, 100),
                                              attempt(512, 4, 5230), attempt(512, 4, 5190, true)};
  const std::vector<PointSummary> points = summarise(records);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_EQ(points[0].count(), 3);
  EXPECT_EQ(points[0].reused, 1);
  EXPECT_DOUBLE_EQ(points[0].median, 5200);
  EXPECT_NEAR(points[0].mean, 5206.667, 1e-3);
  EXPECT_NEAR(points[0].half_width.value(), 51.71, 0.01);
  EXPECT_FALSE(points[1].half_width.has_value()) << "one value has no interval";
}

TEST(ResultText, LooksLikeATable) {
  const std::vector<store::RunRecord> records{
      attempt(512, 4, 48210), attempt(512, 8, 63940), attempt(1024, 4, 62110),
      failure(1024, 8, record::Outcome::OomHost, "needs 9 GiB, 8 GiB may be used")};
  EXPECT_EQ(result_text(summarise(records)),
            "length  batch  tokens/s  95% CI  n  peak GiB  status\n"
            "   512      4    48,210     n=1  1       3.0  ok\n"
            "   512      8    63,940     n=1  1       3.0  ok\n"
            "  1024      4    62,110     n=1  1       3.0  ok\n"
            "  1024      8         -       -  0         -  oom_host: needs 9 GiB, 8 GiB may be "
            "used\n"
            "best tokens/s: length=512 batch=8 (63,940; next is 62,110, -2.9 %)\n"
            "weights: random (seed 1)\n");
}

TEST(ResultText, ShowsIntervalsOfRepeatsAndSmallRates) {
  const std::vector<store::RunRecord> records{attempt(512, 4, 99.7), attempt(512, 4, 100.3)};
  const std::string text = result_text(summarise(records));
  EXPECT_THAT(text, HasSubstr("model  length  batch"));
  EXPECT_THAT(text, HasSubstr("100.0  ±3.8 %  0.4 %  2"));
  EXPECT_THAT(text, Not(HasSubstr("best"))) << "one point is not the best of anything";
}

TEST(ResultText, CountsFailedAttemptsOfAPointThatHasANumber) {
  const std::vector<store::RunRecord> records{
      failure(512, 4, record::Outcome::Crashed, "signal 11"), attempt(512, 4, 1000)};
  EXPECT_THAT(result_text(summarise(records)), HasSubstr("ok, 1 crashed"));
}

TEST(ResultText, SaysHowMuchOfTheTimeAGpuWasThrottled) {
  std::vector<store::RunRecord> records{attempt(512, 4, 48210), attempt(512, 4, 48000)};
  records[1].record.set("gpu_throttled_percent", 6.0);
  EXPECT_THAT(result_text(summarise(records)), HasSubstr("  ok, throttled 6 %\n"));
  records.push_back(failure(512, 4, record::Outcome::Crashed, "gone"));
  EXPECT_THAT(result_text(summarise(records)), HasSubstr("  ok, throttled 6 %, 1 crashed\n"));
}

TEST(ResultText, SaysWhenWarmUpDidNotSettle) {
  std::vector<store::RunRecord> records{attempt(512, 4, 1000)};
  records[0].record.set("warmup", "capped");
  EXPECT_THAT(result_text(summarise(records)), HasSubstr("had not settled"));
}

TEST(ResultJson, HoldsNullWhereNothingWasMeasured) {
  const std::vector<store::RunRecord> records{
      attempt(512, 4, 1000), attempt(512, 4, 1100),
      failure(1024, 8, record::Outcome::Timeout, "longer than 600 s")};
  const Json rows = result_json(summarise(records));
  ASSERT_EQ(rows.as_array().size(), 2U);
  EXPECT_EQ(rows.as_array()[0].at("n").as_int(), 2);
  EXPECT_EQ(rows.as_array()[0].at("tokens_per_s").as_double(), 1050);
  EXPECT_LT(rows.as_array()[0].at("tokens_per_s_ci_lo").as_double(), 1050);
  EXPECT_TRUE(rows.as_array()[1].at("tokens_per_s").is_null());
  EXPECT_EQ(rows.as_array()[1].at("status").as_string(), "timeout");
  EXPECT_EQ(rows.as_array()[1].at("reason").as_string(), "longer than 600 s");
}

store::RunRecord in_round(store::RunRecord attempt, std::int64_t round) {
  attempt.record.repeat = round;
  return attempt;
}

TEST(Summarise, MarksOutliersAndKeepsThem) {
  std::vector<store::RunRecord> records;
  for (const double rate : {1000.0, 1001.0, 999.0, 1000.5, 500.0}) {
    records.push_back(attempt(512, 4, rate));
  }
  const std::vector<PointSummary> points = summarise(records);
  EXPECT_THAT(points[0].outliers, ElementsAre(4));
  EXPECT_EQ(points[0].count(), 5);
  EXPECT_DOUBLE_EQ(points[0].median, 1000);
  EXPECT_DOUBLE_EQ(points[0].mean, 900.1);
  EXPECT_EQ(points[0].status(), "ok, 1 outlier");
  EXPECT_THAT(result_text(points), HasSubstr("outliers: marked, not left out"));
  const Json row = result_json(points).as_array()[0];
  EXPECT_EQ(row.at("outliers").as_array()[0].as_double(), 500.0);
  EXPECT_NEAR(row.at("tokens_per_s_cv").as_double(), 0.2485, 1e-4);
}

TEST(ResultText, TellsOfDriftOverTheRounds) {
  std::vector<store::RunRecord> steady;
  std::vector<store::RunRecord> slower;
  for (int round = 1; round <= 4; ++round) {
    for (const int batch : {1, 2, 4}) {
      const double noise = 1 + 0.001 * ((round * 7 + batch * 3) % 5 - 2);
      steady.push_back(in_round(attempt(512, batch, 1000 * batch * noise), round));
      slower.push_back(
          in_round(attempt(512, batch, 1000 * batch * noise * std::pow(0.97, round)), round));
    }
  }
  EXPECT_THAT(result_text(summarise(steady)), Not(HasSubstr("drift")));
  EXPECT_THAT(result_text(summarise(slower)),
              HasSubstr("drift: tokens/s changed by -3.0 % per round over all points (p = "));
  for (store::RunRecord& one : slower) {
    one.reused = true;
  }
  EXPECT_FALSE(drift_of(summarise(slower))) << "rounds of other runs are no rounds of this one";
}

TEST(ResultText, ShowsThePriceOnlyWhenThereIsOne) {
  std::vector<store::RunRecord> records{attempt(512, 4, 1000)};
  EXPECT_THAT(result_text(summarise(records)), Not(HasSubstr("cost")));
  records[0].record.set("cost_per_mtok", 0.125);
  EXPECT_THAT(result_text(summarise(records)), HasSubstr("cost/Mtok"));
  EXPECT_THAT(result_text(summarise(records)), HasSubstr("0.125"));
  EXPECT_EQ(result_json(summarise(records)).as_array()[0].at("cost_per_mtok").as_double(), 0.125);
}

TEST(StabilityShares, SumUpToExactlyOneForFiveRuns) {
  for (std::int64_t gpu = 0; gpu <= 5; ++gpu) {
    for (std::int64_t host = 0; gpu + host <= 5; ++host) {
      for (std::int64_t other = 0; gpu + host + other <= 5; ++other) {
        const Stability shares{.runs = 5,
                               .gpu_oom = gpu,
                               .host_oom = host,
                               .other_error = other,
                               .no_error = 5 - gpu - host - other};
        EXPECT_EQ(
            shares.f_gpu_oom() + shares.f_host_oom() + shares.f_other_error() + shares.f_no_error(),
            1.0);
      }
    }
  }
}

TEST(StabilityShares, CountEveryRunButInterruptedOnes) {
  using enum record::Outcome;
  std::vector<store::RunRecord> records{attempt(512, 4, 1000)};
  for (const record::Outcome outcome : {OomGpu, OomHost, Interrupted, Crashed, Timeout}) {
    records.push_back(failure(512, 4, outcome, "why"));
  }
  for (store::RunRecord& one : records) {
    one.record.experiment = "finetune_full_stability-v1.0.0";
  }
  const std::vector<PointSummary> points = summarise(records);
  ASSERT_TRUE(points[0].stability);
  EXPECT_EQ(points[0].stability->runs, 5);
  EXPECT_DOUBLE_EQ(points[0].stability->f_gpu_oom(), 0.2);
  EXPECT_DOUBLE_EQ(points[0].stability->f_host_oom(), 0.2);
  EXPECT_DOUBLE_EQ(points[0].stability->f_other_error(), 0.4);
  EXPECT_DOUBLE_EQ(points[0].stability->f_no_error(), 0.2);
  EXPECT_TRUE(points[0].stability->is_valid());
  const std::string text = result_text(points);
  EXPECT_THAT(text, HasSubstr("f_gpu_oom  f_host_oom  f_other_error  f_no_error  is_valid"));
  EXPECT_THAT(text,
              HasSubstr("0.2         0.2            0.4         0.2         1  timeout: why"));
  const Json row = result_json(points).as_array()[0];
  EXPECT_DOUBLE_EQ(row.at("f_other_error").as_double(), 0.4);
  EXPECT_TRUE(row.at("is_valid").as_bool());
  records.pop_back();
  EXPECT_FALSE(summarise(records)[0].stability->is_valid()) << "four runs are not five";
}

TEST(VaryingInputs, FallsBackToTheRequiredOnes) {
  const std::vector<experiment::Inputs> one{attempt(512, 4, 1).record.inputs};
  EXPECT_THAT(varying_inputs(one), ElementsAre("model_name", "model_max_length", "batch_size"));
}

TEST(ShortInputName, IsTheLongAliasOrTheName) {
  EXPECT_EQ(experiment::short_name("model_max_length"), "length");
  EXPECT_EQ(experiment::short_name("torch_dtype"), "torch_dtype");
}

}  // namespace
}  // namespace tunebench::report
