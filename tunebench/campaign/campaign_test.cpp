#include "tunebench/campaign/campaign.h"

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tunebench/base/files.h"
#include "tunebench/campaign/internal/plan_of_batches.h"

namespace tunebench::campaign {
namespace {

using testing::ElementsAre;

/// A child that plays events and then ends as told.
class PlayedRun : public trainer::Running {
 public:
  PlayedRun(std::deque<trainer::Event> events, ExitStatus exit)
      : events_(std::move(events)), exit_(exit) {}
  std::optional<trainer::Event> next_event(std::chrono::nanoseconds) override {
    if (events_.empty()) {
      return std::nullopt;
    }
    trainer::Event event = events_.front();
    events_.pop_front();
    return event;
  }
  [[nodiscard]] bool stream_ended() const override { return events_.empty(); }
  void request_stop() override {}
  void kill() override {
    events_.clear();
    exit_.signal = 9;
  }
  ExitStatus wait(std::chrono::nanoseconds) override { return exit_; }

 private:
  std::deque<trainer::Event> events_;
  ExitStatus exit_;
};

enum class Play { Ok, Crash, OutOfMemory };

/// Plays what `plays` says, in the order of the starts; Ok when it says nothing.
class PlayedTrainer : public trainer::Trainer {
 public:
  std::deque<Play> plays;
  std::vector<std::int64_t> started_batches;
  std::function<void()> on_start = [] {};

  [[nodiscard]] std::string name() const override { return "played"; }
  [[nodiscard]] std::string version() const override { return "1"; }

  std::unique_ptr<trainer::Running> start(const trainer::Job& job) override {
    started_batches.push_back(job.point.integer("batch_size"));
    on_start();
    Play play = Play::Ok;
    if (!plays.empty()) {
      play = plays.front();
      plays.pop_front();
    }
    trainer::HelloEvent hello;
    hello.trainer = "played";
    std::deque<trainer::Event> events{hello};
    if (play == Play::Ok) {
      for (std::int64_t n = 1; n <= job.planned_steps; ++n) {
        events.push_back(trainer::StepEvent{.n = n,
                                            .t0 = n * 1'000'000,
                                            .t1 = n * 1'000'000 + 900'000,
                                            .samples = 1,
                                            .tokens = 32,
                                            .tokens_nonpad = 30,
                                            .tokens_trained = 29,
                                            .loss = 2.0,
                                            .grad_norm = 1.0,
                                            .learning_rate = 1e-5});
      }
      events.push_back(trainer::EndEvent{.status = "ok", .steps = job.planned_steps});
      return std::make_unique<PlayedRun>(std::move(events), ExitStatus{});
    }
    if (play == Play::OutOfMemory) {
      trainer::ErrorEvent error;
      error.kind = "oom_host";
      error.message = "does not fit";
      events.emplace_back(error);
      return std::make_unique<PlayedRun>(std::move(events), ExitStatus{.code = 1});
    }
    return std::make_unique<PlayedRun>(std::move(events), ExitStatus{.signal = 11});
  }
};

/// Notes what it is told.
class Notes : public Observer {
 public:
  std::int64_t reused = -1;
  std::vector<std::string> lines;
  std::function<void()> after_measurement = [] {};

  void started(const store::Run&, std::int64_t known, std::int64_t) override { reused = known; }
  void measuring(const Position&) override {}
  void progress(const Position&, const measure::Progress&, double) override {}
  void measured(const Position& position, const record::Record& record, bool again) override {
    lines.push_back(std::to_string(position.number) + "/" + std::to_string(position.total) + " " +
                    position.point->title + " r" + std::to_string(position.round) + " " +
                    std::string(record::outcome_name(record.status)) + (again ? " again" : ""));
    after_measurement();
  }
};

class CampaignTest : public testing::Test {
 protected:
  [[nodiscard]] static Plan plan(std::vector<int> batches, std::int64_t repeats = 1) {
    Plan plan = plan_of_batches(batches, {.count = repeats}, 4, 60);
    for (PlannedPoint& planned : plan.points) {
      planned.flops_per_step = 1e6;
      planned.facts = {{"weights", "random"}};
    }
    plan.machine.environment = Json::object({{"os", "test"}});
    return plan;
  }

  Result run(const Plan& plan) {
    return run_campaign(plan,
                        {.store = *store,
                         .trainer = trainer,
                         .clock = clock,
                         .stop = stop,
                         .log_folder = folder.path() / "logs",
                         .command = "tunebench run"},
                        notes);
  }

  TemporaryFolder folder;
  std::unique_ptr<store::Store> store =
      store::open_store((folder.path() / "store.db").string(), store::OpenMode::Create);
  PlayedTrainer trainer;
  test_support::FakeClock clock;
  measure::StopFlag stop;
  Notes notes;
};

TEST_F(CampaignTest, MeasuresEveryPointAndStoresIt) {
  const Result result = run(plan({1, 2}));
  EXPECT_THAT(notes.lines, ElementsAre("1/2 batch=1 r1 ok", "2/2 batch=2 r1 ok"));
  EXPECT_EQ(result.measured, 2);
  EXPECT_EQ(result.valid_points, 2);
  EXPECT_EQ(result.failed_points, 0);
  const std::vector<store::RunRecord> records = store->records_of(result.run);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].record.run, result.run);
  EXPECT_EQ(records[0].record.key, "key of batch=1");
  EXPECT_EQ(records[0].record.get("weights").as_string(), "random");
  EXPECT_EQ(records[0].record.environment.at("os").as_string(), "test");
  EXPECT_NE(records[0].record.id, records[1].record.id);
  EXPECT_EQ(store->find_run(result.run).status, "finished");
}

TEST_F(CampaignTest, InterleavesRoundsOverThePoints) {
  run(plan({1, 2}, 2));
  EXPECT_THAT(trainer.started_batches, ElementsAre(1, 2, 1, 2));
}

TEST_F(CampaignTest, ReusesWhatIsKnown) {
  run(plan({1, 2}));
  trainer.started_batches.clear();
  const Result result = run(plan({2, 4, 1}));
  EXPECT_EQ(notes.reused, 2);
  EXPECT_EQ(result.reused, 2);
  EXPECT_EQ(result.measured, 1);
  EXPECT_THAT(trainer.started_batches, ElementsAre(4));
  EXPECT_EQ(store->records_of(result.run).size(), 3U);
}

TEST_F(CampaignTest, MeasuresOnlyTheRepeatsThatAreMissing) {
  run(plan({1}));
  const Result result = run(plan({1}, 3));
  EXPECT_EQ(result.reused, 1);
  EXPECT_EQ(result.measured, 2);
}

TEST_F(CampaignTest, MeasuresAgainWhenAskedForFreshNumbers) {
  run(plan({1}));
  Plan fresh = plan({1});
  fresh.fresh = true;
  EXPECT_EQ(run(fresh).measured, 1);
}

TEST_F(CampaignTest, TriesACrashAgain) {
  trainer.plays = {Play::Crash, Play::Ok};
  const Result result = run(plan({1}));
  EXPECT_THAT(notes.lines, ElementsAre("1/1 batch=1 r1 crashed again", "1/1 batch=1 r1 ok"));
  EXPECT_EQ(result.valid_points, 1);
  const std::vector<store::RunRecord> records = store->records_of(result.run);
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1].record.attempt, 2);
}

TEST_F(CampaignTest, GivesUpAPointThatCrashesThreeTimes) {
  trainer.plays = {Play::Crash, Play::Crash, Play::Crash};
  const Result result = run(plan({1, 2}, 2));
  EXPECT_THAT(trainer.started_batches, ElementsAre(1, 1, 1, 2, 2));
  EXPECT_EQ(result.failed_points, 1);
  EXPECT_EQ(result.valid_points, 1);
}

TEST_F(CampaignTest, DoesNotTryAgainWhatDoesNotFit) {
  trainer.plays = {Play::OutOfMemory};
  const Result result = run(plan({1}, 3));
  EXPECT_THAT(notes.lines, ElementsAre("1/3 batch=1 r1 oom_host"));
  EXPECT_EQ(result.failed_points, 1);
}

TEST_F(CampaignTest, MeasuresAFailedPointInTheNextRun) {
  trainer.plays = {Play::OutOfMemory};
  run(plan({1}));
  EXPECT_EQ(run(plan({1})).measured, 1);
}

TEST_F(CampaignTest, StopsBetweenMeasurementsAndKeepsWhatIsDone) {
  notes.after_measurement = [this] { stop.level = 1; };
  const Result result = run(plan({1, 2, 4}));
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.measured, 1);
  EXPECT_EQ(store->find_run(result.run).status, "interrupted");
  stop.level = 0;
  const Result next = run(plan({1, 2, 4}));
  EXPECT_EQ(next.reused, 1);
}

TEST_F(CampaignTest, AnInterruptedMeasurementIsNoResult) {
  trainer.on_start = [this] { stop.level = 2; };
  const Result result = run(plan({1, 2}));
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.measured, 0);
  EXPECT_THAT(notes.lines, ElementsAre("1/2 batch=1 r1 interrupted"));
}

TEST_F(CampaignTest, NoSecretEntersTheInputsOfARecord) {
  Plan secret = plan({1});
  secret.points[0].point.inputs["dataset_id"] = Json("/data/token=planted/d.jsonl");
  const Result result = run(secret);
  const record::Record record = store->records_of(result.run).at(0).record;
  EXPECT_EQ(record.inputs.at("dataset_id").as_string().find("planted"), std::string::npos);
  EXPECT_EQ(record::to_text(record).find("planted"), std::string::npos);
}

TEST_F(CampaignTest, TakesWhatAnotherProcessMeasuredMeanwhile) {
  const Plan both = plan({1, 2});
  bool stored = false;
  notes.after_measurement = [this, &both, &stored] {
    if (stored) {
      return;
    }
    stored = true;
    record::Record other;
    other.id = "other";
    other.run = store->begin_run({.command = "another process", .planned = 1}).name;
    other.key = both.points[1].key;
    other.experiment = both.experiment;
    other.inputs = both.points[1].point.inputs;
    store->append(other);
  };
  const Result result = run(both);
  EXPECT_EQ(result.measured, 1);
  EXPECT_EQ(result.reused, 1);
  EXPECT_THAT(trainer.started_batches, ElementsAre(1));
}

}  // namespace
}  // namespace tunebench::campaign
