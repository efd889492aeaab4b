// Searches over the simulated trainer: what is chosen follows from the records of the run, so that
// one that is cut anywhere and resumed chooses what an uninterrupted one does.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tunebench/base/files.h"
#include "tunebench/campaign/campaign.h"
#include "tunebench/trainer/simulated_trainer.h"

namespace tunebench::campaign {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

/// Notes what is measured, and stops after so many measurements.
class Choices : public Observer {
 public:
  std::vector<std::string> titles;
  std::int64_t most = 1'000'000;
  measure::StopFlag* stop = nullptr;
  void started(const store::Run&, std::int64_t, std::int64_t) override {}
  void measuring(const Position& position) override { titles.push_back(position.point->title); }
  void progress(const Position&, const measure::Progress&, double) override {}
  void measured(const Position&, const record::Record&, bool) override {
    if (--most == 0) {
      stop->level = 1;
    }
  }
};

/// A store of its own, and runs in it.
class Bed {
 public:
  static Request request(const std::string& method, std::int64_t seed) {
    Request request;
    request.experiment = experiment::find_experiment("finetune_full_benchmark");
    request.given = {{"model_name", {"tiny"}},
                     {"model_max_length", {16, 32, 64, 128}},
                     {"trainer", {"simulated"}},
                     {"max_steps", {5}},
                     {"batch_size", {1, 2, 3, 4, 6, 8}}};
    request.rules.push_back({"batch_size * model_max_length <= 512", "--where"});
    request.search = {.method = method, .parameters = Json::object({{"seed", seed}})};
    request.stop.points = 12;
    return request;
  }

  Result run(const Request& request, std::int64_t most = 1'000'000,
             const std::string& resume = "") {
    const std::unique_ptr<trainer::Trainer> trainer =
        trainer::make_simulated_trainer(trainer::parse_simulation(model, "model"), clock);
    Diagnostics problems;
    const Plan plan = make_plan(request,
                                {.trainer = "simulated",
                                 .trainer_version = "1",
                                 .hardware_class = "simulated",
                                 .environment = Json::object()},
                                problems);
    EXPECT_THAT(problems, IsEmpty()) << (problems.empty() ? "" : problems.front().line());
    choices = {};
    choices.most = most;
    choices.stop = &stop;
    stop.level = 0;
    return run_campaign(plan,
                        {.store = *store,
                         .trainer = *trainer,
                         .clock = clock,
                         .stop = stop,
                         .log_folder = folder.path() / "logs",
                         .command = "tunebench run",
                         .resume = resume},
                        choices);
  }

  std::string model = R"({"step":{"base_s":0.5,"per_token_s":0.001,"run_noise":{"sd":0.02}}})";
  TemporaryFolder folder;
  std::unique_ptr<store::Store> store =
      store::open_store((folder.path() / "store.db").string(), store::OpenMode::Create);
  test_support::FakeClock clock;
  measure::StopFlag stop;
  Choices choices;
};

class SearchingTest : public testing::TestWithParam<const char*> {
 protected:
  SearchingTest() { bed.model = kModel; }
  static constexpr const char* kModel =
      R"({"step":{"base_s":0.5,"per_token_s":0.001,"run_noise":{"sd":0.02}}})";
  Bed bed;
};

TEST_P(SearchingTest, CutAnywhereAndResumedChoosesTheSame) {
  for (const std::int64_t seed : {1, 23}) {
    Bed whole;
    whole.model = kModel;
    const Result result = whole.run(Bed::request(GetParam(), seed));
    const std::vector<std::string> all = whole.choices.titles;
    ASSERT_GE(all.size(), 12U);
    ASSERT_FALSE(result.interrupted);
    for (const std::int64_t cut : {1, 4, 11}) {
      Bed cut_bed;
      cut_bed.model = kModel;
      const Result first = cut_bed.run(Bed::request(GetParam(), seed), cut);
      ASSERT_TRUE(first.interrupted);
      std::vector<std::string> chosen = cut_bed.choices.titles;
      ASSERT_THAT(chosen, SizeIs(cut));
      const Result rest = cut_bed.run(Bed::request(GetParam(), seed), 1'000'000, first.run);
      chosen.insert(chosen.end(), cut_bed.choices.titles.begin(), cut_bed.choices.titles.end());
      EXPECT_EQ(chosen, all) << GetParam() << " seed " << seed << " cut after " << cut;
      EXPECT_EQ(rest.run, first.run);
      EXPECT_EQ(cut_bed.store->find_run(rest.run).status, "finished");
      // Times are those of the clock, which goes on; all else is the same.
      EXPECT_EQ(Json::parse(rest.end_reason, "").at("trials"),
                Json::parse(result.end_reason, "").at("trials"));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, SearchingTest,
                         testing::Values("random", "lhs", "sobol", "tpe", "gp"));

TEST(Searching, KeepsTheReasonWithItsNumbersInTheStore) {
  Bed bed;
  const Result result = bed.run(Bed::request("tpe", 1));
  EXPECT_EQ(result.measured, 12);
  EXPECT_EQ(result.valid_points, 12);
  const Json reason = Json::parse(bed.store->find_run(result.run).stop_reason, "reason");
  EXPECT_EQ(reason.at("reason"), Json("count"));
  EXPECT_EQ(reason.at("trials"), Json(12));
  EXPECT_EQ(reason.at("stoppers").as_array().at(0).at("numbers").at("limit"), Json(12));
}

TEST(Searching, WhatIsKnownIsReusedAndCountsAsATrial) {
  Bed bed;
  bed.run(Bed::request("random", 5));
  const std::vector<std::string> chosen = bed.choices.titles;
  const Result again = bed.run(Bed::request("random", 5));
  EXPECT_EQ(again.reused, 36) << "12 points, three repeats each";
  EXPECT_THAT(bed.choices.titles, IsEmpty());
  EXPECT_EQ(again.end_reason.find("\"reason\":\"count\""), 1U);
}

TEST(Searching, EndsWhenNoPointIsLeft) {
  Bed bed;
  Request request = Bed::request("tpe", 1);
  request.stop.points.reset();
  const Result result = bed.run(request);
  EXPECT_EQ(Json::parse(result.end_reason, "").at("reason"), Json("all_points"));
  EXPECT_EQ(result.valid_points, 22) << "24 less the two that the rule excludes";
}

TEST(Searching, EndsWithoutImprovementByTimeAndByCost) {
  Bed bed;
  Request request = Bed::request("random", 3);
  request.stop = {.no_improvement = 2};
  EXPECT_EQ(Json::parse(bed.run(request).end_reason, "").at("reason"), Json("no_improvement"));
  Bed timed;
  request.stop = {.time_s = 30};
  const Result by_time = timed.run(request);
  EXPECT_EQ(Json::parse(by_time.end_reason, "").at("reason"), Json("time"));
  EXPECT_LT(by_time.measured, 63);
  Bed priced;
  request.stop = {.cost = 0.02};
  request.price = 3.0;
  EXPECT_EQ(Json::parse(priced.run(request).end_reason, "").at("reason"), Json("cost"));
}

TEST(Searching, FailedPointsAreBadNotUnknown) {
  Bed bed;
  bed.model =
      R"({"step":{"base_s":0.5},"failures":[{"step":1,"error":"oom_gpu","message":"no room"}]})";
  const Result result = bed.run(Bed::request("tpe", 1));
  EXPECT_EQ(result.valid_points, 0);
  EXPECT_EQ(result.failed_points, 12);
  EXPECT_EQ(bed.choices.titles.size(), 12U);
}

TEST(Searching, HalvingTriesManyPointsForFewStepsAndTheBetterOnesForMore) {
  Bed bed;
  Request request = Bed::request("halving", 1);
  request.search.parameters.set("min_steps", 3).set("max_steps", 27);
  request.stop.points = 9;
  const Result result = bed.run(request);
  EXPECT_GE(result.measured, 9);
  EXPECT_THAT(bed.choices.titles.front(), HasSubstr("steps=3"));
  for (const store::RunRecord& one : bed.store->records_of(result.run)) {
    const std::int64_t steps = one.record.inputs.at("max_steps").as_int();
    EXPECT_TRUE(steps == 3 || steps == 9 || steps == 27) << steps;
  }
}

TEST(Searching, TellsMistakesOfThePlan) {
  Request request = Bed::request("grouped", 1);
  request.search.parameters.set("grouping", Json::array({"lenght"}));
  request.search.where = "p.yaml:3:1";
  request.stop = {.cost = 1.0, .where = "p.yaml:5:1"};
  Diagnostics problems;
  make_plan(request, {.trainer = "simulated", .hardware_class = "simulated"}, problems);
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_THAT(problems[0].line(), HasSubstr("lenght"));
  EXPECT_THAT(problems[1].line(),
              HasSubstr("p.yaml:5:1: stop 'cost' needs to know what an hour costs"));
}

}  // namespace
}  // namespace tunebench::campaign
