// Repeats, retries and stability over simulated trainers, a store on disk and a clock that does not
// wait.
#include <chrono>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tunebench/base/files.h"
#include "tunebench/campaign/campaign.h"
#include "tunebench/campaign/internal/plan_of_batches.h"
#include "tunebench/stats/summary.h"
#include "tunebench/trainer/simulated_trainer.h"

namespace tunebench::campaign {
namespace {

using record::Outcome;
using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::ElementsAreArray;

class Lines : public Observer {
 public:
  std::vector<std::string> lines;
  std::vector<std::string> titles;
  std::function<void()> before = [] {};
  std::function<void(const record::Record&)> after = [](const record::Record&) {};

  void started(const store::Run&, std::int64_t, std::int64_t) override {}
  void measuring(const Position& position) override {
    titles.push_back(position.point->title);
    before();
  }
  void progress(const Position&, const measure::Progress&, double) override {}
  void measured(const Position& position, const record::Record& record, bool again) override {
    lines.push_back(std::to_string(position.number) + "/" + std::to_string(position.total) + " r" +
                    std::to_string(position.round) + " try " + std::to_string(position.attempt) +
                    " " + std::string(record::outcome_name(record.status)) +
                    (again ? " again" : ""));
    after(record);
  }
};

class RepeatsTest : public testing::Test {
 protected:
  static Plan plan(std::vector<int> batches, Repeats repeats) {
    return plan_of_batches(batches, repeats, 10);
  }

  static Plan stability(std::vector<int> batches) {
    Plan stable = plan(std::move(batches), {.count = kStabilityRuns});
    stable.stability = true;
    stable.experiment = "finetune_full_stability-v1.0.0";
    for (PlannedPoint& planned : stable.points) {
      planned.point.inputs["max_steps"] = 5;
      planned.planned_steps = 5;
    }
    return stable;
  }

  Result run(const Plan& plan, const std::string& model) {
    const std::unique_ptr<trainer::Trainer> trainer =
        trainer::make_simulated_trainer(trainer::parse_simulation(model, "model"), clock);
    return run_campaign(plan,
                        {.store = *store,
                         .trainer = *trainer,
                         .clock = clock,
                         .stop = stop,
                         .log_folder = folder.path() / "logs",
                         .command = "tunebench run"},
                        notes);
  }

  [[nodiscard]] std::vector<double> rates(const std::string& run_name) const {
    std::vector<double> rates;
    for (const store::RunRecord& one : store->records_of(run_name)) {
      rates.push_back(one.record.number("tokens_per_s").value());
    }
    return rates;
  }

  TemporaryFolder folder;
  std::unique_ptr<store::Store> store =
      store::open_store((folder.path() / "store.db").string(), store::OpenMode::Create);
  test_support::FakeClock clock;
  measure::StopFlag stop;
  Lines notes;
};

constexpr const char* kQuiet = R"({"step":{"base_s":1}})";

TEST_F(RepeatsTest, UntilStopsAsSoonAsTheIntervalIsNarrow) {
  run(plan({1}, {.count = 3, .until = 0.01}), kQuiet);
  EXPECT_THAT(notes.lines, ElementsAre("1/3 r1 try 1 ok", "2/3 r2 try 1 ok", "3/3 r3 try 1 ok"));
}

TEST_F(RepeatsTest, UntilRepeatsNoisyPointsOnlyAndKnowsItsBound) {
  const Result noisy = run(plan({1}, {.count = 3, .until = 0.001, .most = 7}),
                           R"({"step":{"base_s":1,"run_noise":{"sd":0.1}}})");
  EXPECT_EQ(noisy.measured, 7);
  EXPECT_EQ(notes.lines.back(), "7/7 r7 try 1 ok");
}

TEST_F(RepeatsTest, UntilEndsWhereTheIntervalFirstFits) {
  const Result result = run(plan({1}, {.count = 2, .until = 0.02}),
                            R"({"seed":5,"step":{"base_s":1,"run_noise":{"sd":0.01}}})");
  const std::vector<double> all = rates(result.run);
  const auto fits = [](std::span<const double> some) {
    return stats::mean_interval(some)->half_width() <= 0.02 * stats::mean(some);
  };
  ASSERT_LT(all.size(), 10U);
  EXPECT_TRUE(fits(all));
  for (std::size_t count = 2; count < all.size(); ++count) {
    EXPECT_FALSE(fits(std::span(all).first(count)));
  }
}

TEST_F(RepeatsTest, ReusedRepeatsCountForUntil) {
  run(plan({1}, {.count = 3}), kQuiet);
  const Result again = run(plan({1}, {.count = 3, .until = 0.01}), kQuiet);
  EXPECT_EQ(again.reused, 3);
  EXPECT_EQ(again.measured, 0);
}

TEST_F(RepeatsTest, ARandomOrderIsAnotherEachRoundAndTheSameForASeed) {
  const auto order = [this](std::uint64_t seed) {
    notes.titles.clear();
    Plan random = plan({1, 2, 3, 4, 5, 6, 7, 8}, {.count = 2, .order_seed = seed});
    random.fresh = true;
    run(random, kQuiet);
    return notes.titles;
  };
  const std::vector<std::string> first = order(1);
  ASSERT_EQ(first.size(), 16U);
  const std::vector<std::string> round1(first.begin(), first.begin() + 8);
  const std::vector<std::string> round2(first.begin() + 8, first.end());
  EXPECT_NE(round1, round2);
  EXPECT_THAT(round1, testing::UnorderedElementsAreArray(round2));
  EXPECT_THAT(order(1), ElementsAreArray(first));
  EXPECT_NE(order(2), first);
}

TEST_F(RepeatsTest, TriesThreeTimesWithPauses) {
  std::vector<std::chrono::nanoseconds> pauses;
  std::chrono::nanoseconds ended{0};
  notes.after = [&](const record::Record&) { ended = clock.now(); };
  notes.before = [&] {
    if (ended.count() > 0) {
      pauses.push_back(clock.now() - ended);
    }
  };
  const Result result =
      run(plan({1}, {}), R"({"step":{"base_s":1},"failures":[{"attempts":[1,2],"error":"nccl"}]})");
  EXPECT_THAT(notes.lines,
              ElementsAre("1/1 r1 try 1 nccl again", "1/1 r1 try 2 nccl again", "1/1 r1 try 3 ok"));
  EXPECT_EQ(result.valid_points, 1);
  EXPECT_EQ(store->records_of(result.run).size(), 3U) << "each attempt is a record";
  EXPECT_THAT(pauses, ElementsAre(milliseconds(500), milliseconds(2000)));
}

TEST_F(RepeatsTest, RetriesFollowTheKind) {
  const auto worth_it = [](const char* kind) {
    record::Record record;
    record.status = *record::find_outcome(kind);
    return worth_another_try(record);
  };
  for (const char* kind : {"nccl", "cuda", "io", "killed", "crashed"}) {
    EXPECT_TRUE(worth_it(kind)) << kind;
  }
  for (const char* kind :
       {"ok", "oom_gpu", "oom_host", "invalid_config", "timeout", "interrupted", "skipped"}) {
    EXPECT_FALSE(worth_it(kind)) << kind;
  }
  record::Record not_a_number;
  not_a_number.status = record::Outcome::Crashed;
  not_a_number.set("nonfinite_steps", 1);
  EXPECT_FALSE(worth_another_try(not_a_number)) << "one seed gives the same bits";
  run(plan({1}, {.count = 3}), R"({"step":{"base_s":1},"failures":[{"error":"oom_gpu"}]})");
  EXPECT_THAT(notes.lines, ElementsAre("1/3 r1 try 1 oom_gpu"));
}

TEST_F(RepeatsTest, AnInterruptEndsAPause) {
  notes.after = [this](const record::Record&) { stop.level = 1; };
  const auto begin = clock.now();
  run(plan({1}, {}), R"({"step":{"base_s":0.001},"failures":[{"exit":1}]})");
  EXPECT_LT(clock.now() - begin, milliseconds(500));
  EXPECT_THAT(notes.lines, ElementsAre("1/1 r1 try 1 crashed again"));
}

constexpr const char* kPattern = R"({"step":{"base_s":1},"failures":[
    {"runs":[1,3],"step":2,"error":"oom_gpu"}, {"runs":[4],"step":0,"error":"oom_host"},
    {"runs":[5],"step":3,"signal":11}]})";

TEST_F(RepeatsTest, StabilityCountsEveryRunAndTriesNothingAgain) {
  const Result result = run(stability({1}), kPattern);
  EXPECT_THAT(notes.lines,
              ElementsAre("1/5 r1 try 1 oom_gpu", "2/5 r2 try 1 ok", "3/5 r3 try 1 oom_gpu",
                          "4/5 r4 try 1 oom_host", "5/5 r5 try 1 crashed"));
  EXPECT_EQ(result.failed_points, 0) << "how often it fails is what was asked for";
  EXPECT_EQ(result.valid_points, 1);
  for (const store::RunRecord& one : store->records_of(result.run)) {
    EXPECT_EQ(one.record.attempt, 1);
  }
}

TEST_F(RepeatsTest, StabilityIsReusedWithItsFailures) {
  run(stability({1}), kPattern);
  notes.lines.clear();
  const Result again = run(stability({1}), kPattern);
  EXPECT_TRUE(notes.lines.empty());
  EXPECT_EQ(again.reused, 5);
  EXPECT_EQ(store->records_of(again.run).size(), 5U);
}

TEST_F(RepeatsTest, StabilityGoesOnAfterAnInterrupt) {
  notes.after = [this](const record::Record& record) { stop.level = record.repeat == 2 ? 1 : 0; };
  EXPECT_TRUE(run(stability({1}), kPattern).interrupted);
  stop.level = 0;
  notes.after = [](const record::Record&) {};
  const Result rest = run(stability({1}), kPattern);
  EXPECT_EQ(rest.reused, 2);
  EXPECT_THAT(notes.lines,
              ElementsAre("1/5 r1 try 1 oom_gpu", "2/5 r2 try 1 ok", "3/5 r3 try 1 oom_gpu",
                          "4/5 r4 try 1 oom_host", "5/5 r5 try 1 crashed"));
}

}  // namespace
}  // namespace tunebench::campaign
