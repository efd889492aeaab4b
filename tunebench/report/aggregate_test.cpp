#include "tunebench/report/aggregate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::report {
namespace {

store::RunRecord attempt(const char* key, double rate,
                         record::Outcome status = record::Outcome::Ok) {
  store::RunRecord one;
  one.record.key = key;
  one.record.experiment = "finetune_full_benchmark-v1.0.0";
  one.record.inputs["batch_size"] = 4;
  one.record.status = status;
  if (status == record::Outcome::Ok) {
    one.record.set("tokens_per_s", rate);
    one.record.set("timed_s", 5.0);
    one.record.set("isa", "avx2");
    one.record.set("warmup", rate > 5220 ? "steady" : "capped");
  } else {
    one.record.reason = "why";
  }
  return one;
}

TEST(Aggregate, HoldsMedianMeanIntervalAndNumberPerPoint) {
  const std::vector<store::RunRecord> records{attempt("a", 5200), attempt("b", 100),
                                              attempt("a", 5230), attempt("a", 5190),
                                              attempt("a", 0, record::Outcome::Crashed)};
  const std::vector<Json> rows = aggregate(records);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].at("n").as_int(), 3);
  EXPECT_EQ(rows[0].at("failed").as_int(), 1);
  EXPECT_EQ(rows[0].at("reason").as_string(), "why");
  EXPECT_EQ(rows[0].at("status").as_string(), "ok");
  EXPECT_EQ(rows[0].at("batch_size").as_int(), 4);
  EXPECT_EQ(rows[0].at("tokens_per_s").as_double(), 5200);
  EXPECT_NEAR(rows[0].at("tokens_per_s_ci_lo").as_double(), 5206.667 - 51.71, 0.01);
  EXPECT_NEAR(rows[0].at("tokens_per_s_ci_hi").as_double(), 5206.667 + 51.71, 0.01);
  EXPECT_EQ(rows[0].at("tokens_per_s_n").as_int(), 3);
  EXPECT_EQ(rows[0].at("timed_s").as_double(), 5);
  EXPECT_EQ(rows[0].at("isa").as_string(), "avx2");
  EXPECT_TRUE(rows[0].at("warmup").is_null()) << "the attempts do not agree";
  EXPECT_TRUE(rows[1].at("tokens_per_s_ci_lo").is_null()) << "one value has no interval";
  EXPECT_EQ(rows[1].at("tokens_per_s_n").as_int(), 1);
  EXPECT_TRUE(rows[1].at("f_gpu_oom").is_null());
}

TEST(Aggregate, FailedPointsAreRowsToo) {
  const std::vector<Json> rows =
      aggregate(std::vector<store::RunRecord>{attempt("a", 0, record::Outcome::OomHost)});
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("status").as_string(), "oom_host");
  EXPECT_FALSE(rows[0].at("is_valid").as_bool());
  EXPECT_TRUE(rows[0].at("tokens_per_s").is_null());
  EXPECT_EQ(rows[0].at("tokens_per_s_n").as_int(), 0);
}

TEST(Aggregate, GivesTheSharesOfAStabilityExperiment) {
  std::vector<store::RunRecord> records{
      attempt("a", 1000), attempt("a", 1000), attempt("a", 0, record::Outcome::OomGpu),
      attempt("a", 0, record::Outcome::OomHost), attempt("a", 0, record::Outcome::Io)};
  for (store::RunRecord& one : records) {
    one.record.experiment = "finetune_full_stability-v1.0.0";
  }
  const Json row = aggregate(records)[0];
  EXPECT_DOUBLE_EQ(row.at("f_gpu_oom").as_double(), 0.2);
  EXPECT_DOUBLE_EQ(row.at("f_host_oom").as_double(), 0.2);
  EXPECT_DOUBLE_EQ(row.at("f_other_error").as_double(), 0.2);
  EXPECT_DOUBLE_EQ(row.at("f_no_error").as_double(), 0.4);
  EXPECT_TRUE(row.at("is_valid").as_bool());
}

TEST(Aggregate, ColumnsAreThoseOfEveryRow) {
  const auto names = [](const Json& row) {
    std::vector<std::string> all;
    for (const Json::Member& member : row.as_object()) {
      all.push_back(member.first);
    }
    return all;
  };
  std::vector<store::RunRecord> records{attempt("a", 1000), attempt("b", 1000)};
  records[1].record.experiment = "finetune_full_stability-v1.0.0";
  for (const Json& row : aggregate(records)) {
    EXPECT_EQ(names(row), names(aggregate_columns()));
    EXPECT_EQ(Json::parse(row.dump(), "row"), row) << "no column twice";
  }
}

}  // namespace
}  // namespace tunebench::report
