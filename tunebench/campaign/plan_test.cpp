#include "tunebench/campaign/plan.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"

namespace tunebench::campaign {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Machine machine() {
  return {.trainer = "native",
          .trainer_version = "1",
          .hardware_class = "cpu:test:2c",
          .memory_bytes = 0,
          .cores = 2,
          .environment = Json::object()};
}

std::vector<experiment::GivenValues> tiny(std::vector<Json> lengths, std::vector<Json> batches) {
  return {{"model_name", {"tiny"}},
          {"model_max_length", std::move(lengths)},
          {"batch_size", std::move(batches)}};
}

Plan plan_of(std::vector<experiment::GivenValues> given, Diagnostics& problems) {
  return make_plan({.experiment = experiment::find_experiment("finetune_full_benchmark"),
                    .given = std::move(given)},
                   machine(), problems);
}

std::vector<std::string> lines(const Diagnostics& problems) {
  std::vector<std::string> result;
  for (const Diagnostic& problem : problems) {
    result.push_back(problem.line());
  }
  return result;
}

TEST(MakePlan, IsTheProductOfTheValuesLastFastest) {
  Diagnostics problems;
  const Plan plan = plan_of(tiny({32, 64}, {1, 2}), problems);
  EXPECT_THAT(lines(problems), IsEmpty());
  std::vector<std::string> titles;
  for (const PlannedPoint& point : plan.points) {
    titles.push_back(point.title);
  }
  EXPECT_THAT(titles, ElementsAre("length=32 batch=1", "length=32 batch=2", "length=64 batch=1",
                                  "length=64 batch=2"));
  EXPECT_GT(plan.points[3].flops_per_step, 2 * plan.points[1].flops_per_step);
  EXPECT_EQ(plan.points[0].planned_steps, 1024) << "4096 entries, batch 1, accumulation 4";
}

TEST(MakePlan, SeveralPointsAreMeasuredThreeTimes) {
  Diagnostics problems;
  EXPECT_EQ(plan_of(tiny({32}, {1}), problems).repeats.count, 1);
  EXPECT_EQ(plan_of(tiny({32}, {1, 2}), problems).repeats.count, 3);
  const auto with = [&problems](std::optional<std::int64_t> repeats, std::optional<double> until) {
    return make_plan({.experiment = experiment::find_experiment("finetune_full_benchmark"),
                      .given = tiny({32}, {1}),
                      .repeats = repeats,
                      .until = until,
                      .most_repeats = 6},
                     machine(), problems)
        .repeats;
  };
  EXPECT_EQ(with(5, {}).count, 5);
  EXPECT_EQ(with({}, 0.01).count, 3) << "an interval needs repeats";
  EXPECT_EQ(with(1, 0.01).count, 2);
  EXPECT_EQ(with({}, 0.01).most, 6);
  EXPECT_THAT(lines(problems), IsEmpty());
  with(7, 0.01);
  EXPECT_THAT(lines(problems),
              ElementsAre("7 repeats are more than the 6 that --max-repeats allows"));
}

TEST(MakePlan, StabilityIsFiveRuns) {
  Diagnostics problems;
  Request request{.experiment = experiment::find_experiment("finetune_full_stability"),
                  .given = tiny({32}, {1, 2})};
  const Plan plan = make_plan(request, machine(), problems);
  EXPECT_THAT(lines(problems), IsEmpty());
  EXPECT_TRUE(plan.stability);
  EXPECT_EQ(plan.measurements(), 10);
  EXPECT_EQ(plan.points[0].planned_steps, 5);
  request.repeats = 3;
  make_plan(request, machine(), problems);
  EXPECT_THAT(lines(problems), ElementsAre(HasSubstr("makes 5 runs of each point")));
}

TEST(MakePlan, SeveralTrainersEachHaveTheirPartOfTheKey) {
  Diagnostics problems;
  std::vector<experiment::GivenValues> given = tiny({32}, {1});
  given.push_back({"trainer", {"native", "command"}});
  const auto keys_with = [&](const char* version) {
    Machine both = machine();
    Machine other = machine();
    other.trainer = "command";
    other.trainer_version = version;
    both.others.push_back(other);
    const Plan plan = make_plan(
        {.experiment = experiment::find_experiment("finetune_full_benchmark"), .given = given},
        both, problems);
    EXPECT_EQ(plan.points.size(), 2U);
    EXPECT_EQ(plan.machine.of(plan.points[1].point).trainer, "command");
    return std::pair(plan.points[0].key, plan.points[1].key);
  };
  const auto [native, command] = keys_with("1");
  const auto [native_again, command_changed] = keys_with("2");
  EXPECT_THAT(lines(problems), IsEmpty());
  EXPECT_EQ(native, native_again) << "it does not depend on who else measures";
  EXPECT_EQ(native, plan_of(tiny({32}, {1}), problems).points[0].key);
  EXPECT_NE(command, command_changed);
}

TEST(MakePlan, KeysChangeWithInputsMachineAndTrainerOnly) {
  Diagnostics problems;
  const std::string key = plan_of(tiny({32}, {1}), problems).points[0].key;
  EXPECT_EQ(plan_of(tiny({32}, {1}), problems).points[0].key, key);
  EXPECT_NE(plan_of(tiny({32}, {2}), problems).points[0].key, key);
  Machine other = machine();
  other.hardware_class = "cpu:test:4c";
  const Plan elsewhere =
      make_plan({.experiment = experiment::find_experiment("finetune_full_benchmark"),
                 .given = tiny({32}, {1})},
                other, problems);
  EXPECT_NE(elsewhere.points[0].key, key);
}

TEST(MakePlan, MeasuresADoubledValueOnce) {
  Diagnostics problems;
  EXPECT_EQ(plan_of(tiny({32, 32}, {1}), problems).points.size(), 1U);
}

TEST(MakePlan, NamesTheNearestModel) {
  Diagnostics problems;
  std::vector<experiment::GivenValues> given = tiny({32, 64}, {1, 2});
  given[0].values = {"tinny"};
  plan_of(given, problems);
  ASSERT_EQ(problems.size(), 1U) << "one mistake, told once for all four points";
  EXPECT_THAT(problems[0].line(), HasSubstr("tinny"));
  EXPECT_THAT(problems[0].line(), HasSubstr("did you mean 'tiny'"));
}

TEST(MakePlan, RefusesALengthAboveTheModelsLimit) {
  Diagnostics problems;
  plan_of(tiny({32, 100000}, {1, 2}), problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0].line(),
              HasSubstr("model_max_length 100000 is above the limit of model 'tiny' - at most"));
}

TEST(MakePlan, ReportsMistakesOfModelAndDataTogether) {
  const TemporaryFolder folder;
  const std::filesystem::path empty = folder.path() / "empty.jsonl";
  std::ofstream{empty};
  Diagnostics problems;
  std::vector<experiment::GivenValues> given = tiny({100000}, {1});
  given.push_back({"dataset_id", {empty.string()}});
  plan_of(given, problems);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_THAT(problems[0].line(), HasSubstr("above the limit"));
  EXPECT_THAT(problems[1].line(), HasSubstr("is empty"));
}

TEST(MakePlan, NamesTheLineOfABadRecord) {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "bad.jsonl";
  std::ofstream(file) << "{\"output\":\"a\"}\n{\"output\":\n";
  Diagnostics problems;
  std::vector<experiment::GivenValues> given = tiny({32}, {1});
  given.push_back({"dataset_id", {file.string()}});
  plan_of(given, problems);
  ASSERT_EQ(problems.size(), 1U);
  EXPECT_THAT(problems[0].line(), HasSubstr("bad.jsonl:2"));
}

experiment::Point point_with(const std::string& name, const Json& value) {
  Diagnostics problems;
  std::vector<experiment::GivenValues> given = tiny({32}, {1});
  given.push_back({name, {value}});
  return plan_of(std::move(given), problems).points.at(0).point;
}

TEST(DefaultTimeout, IsTenMinutesAndMoreForMuchArithmetic) {
  const experiment::Point point = point_with("max_steps", -1);
  EXPECT_EQ(default_timeout_s(point, 1e6, 1000, 2), 600);
  EXPECT_GT(default_timeout_s(point, 2e12, 1000, 2), 5000);
  EXPECT_EQ(default_timeout_s(point, 2e12, 1, 2), 600) << "a single step is soon done";
  EXPECT_LT(default_timeout_s(point, 2e12, 1000, 64), default_timeout_s(point, 2e12, 1000, 2));
}

TEST(DefaultTimeout, LeavesTimeForWhatThePointAsksFor) {
  EXPECT_GE(default_timeout_s(point_with("stop_after_seconds", 7200), 1e6, 1000, 2), 7200);
  EXPECT_GT(default_timeout_s(point_with("max_steps", 1000), 2e12, 1000, 2),
            10 * default_timeout_s(point_with("max_steps", -1), 2e12, 1000, 2));
}

TEST(MemoryBound, IsTheSmallerOfWhatThereIsAndWhatWasAskedFor) {
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  EXPECT_EQ(memory_bound(16 * kGib, 0), 15 * kGib);
  EXPECT_EQ(memory_bound(16 * kGib, 4), 4 * kGib);
  EXPECT_EQ(memory_bound(16 * kGib, 100), 15 * kGib);
  EXPECT_EQ(memory_bound(0, 4), 4 * kGib);
  EXPECT_EQ(memory_bound(0, 0), 0);
}

}  // namespace
}  // namespace tunebench::campaign
