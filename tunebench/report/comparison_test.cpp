// The layout is that of the messages in part 4 of the project's specification.
#include "tunebench/report/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/analyze/testing.h"
#include "tunebench/base/clock.h"

namespace tunebench::report {
namespace {

using analyze::operator+;
using analyze::rate_records;
using testing::HasSubstr;
using testing::Not;
using Records = std::vector<record::Record>;

Records on_machine(Records records, const char* driver, int watts) {
  for (record::Record& record : records) {
    record.environment.set("driver", driver)
        .set("gpus", Json::array({Json::object({{"model", "H200"}, {"power_limit_w", watts}})}));
  }
  return records;
}

experiment::Inputs point_at(int length, int batch) {
  return {{"model_name", "smollm2"}, {"model_max_length", length}, {"batch_size", batch}};
}

/// Three values around a mean.
std::vector<double> around(double mean, double sd) {
  return {mean - sd, mean, mean + sd};
}

class ComparisonReportTest : public testing::Test {
 protected:
  void compare_these(const Records& a, const Records& b, const std::vector<std::string>& gates = {},
                     const analyze::CompareRules& rules = {}) {
    Diagnostics problems;
    comparison_ = *analyze::compare(a, b, rules, problems);
    report_ = {.first_name = "brisk-otter",
               .second_name = "calm-heron",
               .first_started_at = "2026-11-28T08:00:00Z",
               .second_started_at = "2026-12-01T08:29:30Z",
               .now = *parse_iso_time("2026-12-01T08:30:00Z"),
               .comparison = &comparison_};
    for (std::size_t i = 0; i < comparison_.points.size(); ++i) {
      report_.shown.push_back(i);
    }
    for (const std::string& gate : gates) {
      report_.gates.push_back(
          analyze::judge(*analyze::parse_gate(gate, "--fail-if", problems), comparison_));
    }
  }

  void compare_the_session() {
    compare_these(on_machine(rate_records(point_at(512, 4), around(48210, 150)) +
                                 rate_records(point_at(512, 8), around(63940, 150)) +
                                 rate_records(point_at(1024, 4), around(62110, 150)) +
                                 rate_records(point_at(1024, 8), around(71480, 150)),
                             "550.90", 700),
                  on_machine(rate_records(point_at(512, 4), around(48190, 200)) +
                                 rate_records(point_at(512, 8), around(63800, 150)) +
                                 rate_records(point_at(1024, 4), around(62200, 200)) +
                                 rate_records(point_at(1024, 8), around(66020, 150)),
                             "570.86", 600),
                  {"tokens_per_s < -3%"});
    report_.shown = {0, 3};
  }

  analyze::Comparison comparison_;
  ComparisonReport report_;
};

TEST_F(ComparisonReportTest, ReadsAsTheSpecificationShows) {
  compare_the_session();
  EXPECT_EQ(
      comparison_text(report_),
      "A brisk-otter (3 d ago)   B calm-heron (now)   same inputs: 4 of 4\n"
      "environment differs: driver 550.90 -> 570.86, power limit 700 -> 600 W\n"
      "length  batch  A tok/s  B tok/s     B/A  95% CI          n    verdict\n"
      "   512      4   48,210   48,190  0.9996  [0.991, 1.008]  3/3  same\n"
      "  1024      8   71,480   66,020   0.924  [0.919, 0.928]  3/3  slower\n"
      "by Welch's test; fewer than 4 repeats a side are too few for a rank test\n"
      "gate tokens_per_s < -3% failed: length=1024 batch=8: -7.64 % [-8.11 %, -7.16 %]\n"
      "(2 of 4 rows shown) geomean 0.980 · 1 slower, 0 faster, 3 same · gate -3%: FAILED (exit "
      "4)\n");
}

TEST_F(ComparisonReportTest, MarkdownHoldsTheSameTable) {
  compare_the_session();
  const std::string text = comparison_markdown(report_);
  EXPECT_THAT(text, HasSubstr("**A brisk-otter (3 d ago)   B calm-heron (now)"));
  EXPECT_THAT(text, HasSubstr("| 1024 | 8 | 71,480 | 66,020 | 0.924 | [0.919, 0.928] | 3/3 | "
                              "slower |\n"));
  EXPECT_THAT(text, HasSubstr("\n**(2 of 4 rows shown) geomean 0.980"));
}

TEST_F(ComparisonReportTest, JsonHoldsEveryNumber) {
  compare_the_session();
  const Json json = comparison_json(report_);
  EXPECT_EQ(json.at("schema").as_string(), "tunebench.compare/1");
  EXPECT_EQ(json.at("points").as_array().size(), 2U);
  const Json& point = json.at("points").as_array()[1];
  EXPECT_EQ(point.at("verdict").as_string(), "slower");
  EXPECT_EQ(point.at("a").as_array().size(), 3U);
  EXPECT_NEAR(point.at("ratio").as_double(), 66020.0 / 71480, 1e-12);
  EXPECT_LT(point.at("holm_p").as_double(), 0.001);
  EXPECT_TRUE(point.at("mann_whitney_p").is_null());
  EXPECT_EQ(json.at("counts").at("same").as_int(), 3);
  EXPECT_EQ(json.at("gates").as_array()[0].at("state").as_string(), "failed");
  EXPECT_EQ(json.at("environment_differences").as_array()[0].as_string(),
            "driver: 550.90 -> 570.86");
}

TEST_F(ComparisonReportTest, TellsWhatIsMissingFailedAndReused) {
  const Records shared = rate_records(point_at(512, 4), {100, 101});
  compare_these(
      shared + rate_records(point_at(512, 8), {100, 101}) + rate_records(point_at(512, 16), {100}),
      shared +
          Records{
              analyze::failed_record(point_at(512, 8), record::Outcome::OomHost, "needs 3 GiB")} +
          rate_records(point_at(512, 32), {100}),
      {"tokens_per_s < -3%"});
  const std::string text = comparison_text(report_);
  EXPECT_THAT(text, HasSubstr("same inputs: 2 of 4\nsame environment\n"));
  EXPECT_THAT(text, HasSubstr("    8    100.5        -       -  -               2/0  failed: "
                              "oom_host: needs 3 GiB\n"));
  EXPECT_THAT(text, HasSubstr("only in A: batch=16\nonly in B: batch=32\n"));
  EXPECT_THAT(text, HasSubstr("2 measurements are in both: B reused them"));
  EXPECT_THAT(text, HasSubstr("1 same, 1 failed · gate -3%: FAILED (exit 4)\n"));
}

TEST_F(ComparisonReportTest, TheRankTestMayContradict) {
  compare_these(rate_records(point_at(512, 4), {100, 100.1, 99.9, 120}),
                rate_records(point_at(512, 4), {130, 131, 129, 119.9}));
  EXPECT_THAT(comparison_text(report_),
              HasSubstr("model=smollm2 length=512 batch=4: the rank test does not confirm it "
                        "(Mann-Whitney p = 0.057)\n"));
  EXPECT_THAT(comparison_text(report_), Not(HasSubstr("too few for a rank test")));
}

TEST_F(ComparisonReportTest, JunitEscapesWhateverANameHolds) {
  experiment::Inputs inputs = point_at(512, 4);
  inputs["model_name"] = "a<b>&\"'\x01\xEF\xBF\xBF";
  experiment::Inputs other = inputs;
  other["model_name"] = "plain";
  compare_these(rate_records(inputs, {100, 101, 102}) + rate_records(other, {100, 101}),
                rate_records(inputs, {50, 51, 52}) + rate_records(other, {100, 101}),
                {"tokens_per_s < -3%", "tokens_per_s < -0.1%"});
  const std::string xml = comparison_junit(report_);
  EXPECT_THAT(xml, HasSubstr("name=\"model=a&lt;b&gt;&amp;&quot;'\\x01?\""));
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"2\" errors=\"0\" skipped=\"2\""));
  EXPECT_THAT(xml, HasSubstr("<failure message=\"-49.50 % ["));
  EXPECT_THAT(xml, HasSubstr("<skipped message=\"uncertain: +0.00 %"));
}

TEST_F(ComparisonReportTest, WithoutGatesEachPointIsACase) {
  compare_these(rate_records(point_at(512, 4), {100, 101}),
                rate_records(point_at(512, 4), {50, 51}));
  EXPECT_THAT(comparison_junit(report_),
              HasSubstr("<testcase classname=\"tokens_per_s\" name=\"model=smollm2 length=512 "
                        "batch=4"));
}

TEST(AgeText, UsesTheLargestUnit) {
  EXPECT_EQ(age_text(59), "now");
  EXPECT_EQ(age_text(-5), "now");
  EXPECT_EQ(age_text(60), "1 min ago");
  EXPECT_EQ(age_text(7300), "2 h ago");
  EXPECT_EQ(age_text(3 * 86400 + 5), "3 d ago");
}

TEST(ComparisonRows, HaveTheColumnsThatSortNames) {
  EXPECT_NE(comparison_columns().find("batch_size"), nullptr);
  EXPECT_NE(comparison_columns().find("ratio"), nullptr);
}

}  // namespace
}  // namespace tunebench::report
