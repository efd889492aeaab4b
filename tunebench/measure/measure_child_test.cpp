// Every end of a child provoked for real: a process that steps, crashes, hangs or is killed.
#include <chrono>
#include <csignal>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/measure/kept_log.h"
#include "tunebench/measure/measure.h"

namespace tunebench::measure {
namespace {

using record::Outcome;
using testing::HasSubstr;
using testing::StartsWith;

/// A command that must show something.
class ExpectingTrainer final : public trainer::Trainer {
 public:
  ExpectingTrainer(std::vector<std::string> argv, trainer::Expected expected)
      : command_(trainer::make_command_trainer(std::move(argv))), expected_(std::move(expected)) {}
  [[nodiscard]] std::string name() const override { return command_->name(); }
  [[nodiscard]] std::string version() const override { return command_->version(); }
  std::unique_ptr<trainer::Running> start(const trainer::Job& job) override {
    return command_->start(job);
  }
  [[nodiscard]] trainer::Expected expected(const experiment::Point& /*point*/) const override {
    return expected_;
  }

 private:
  std::unique_ptr<trainer::Trainer> command_;
  trainer::Expected expected_;
};

class MeasureChildTest : public testing::Test {
 protected:
  MeasureChildTest() {
    request.point.experiment = "finetune_full_benchmark-v1.0.0";
    request.point.inputs = {{"max_steps", -1}};
    request.log_file = folder.path() / "point.log";
    // A small window, so that a test takes milliseconds; the rule is the same.
    request.protocol.min_timed_steps = 20;
    request.protocol.min_timed_s = 0.02;
    request.protocol.timeout_s = 120;
  }

  record::Record measure(std::vector<std::string> actions, trainer::Expected expected = {}) {
    actions.insert(actions.begin(), TB_SCRIPTED_TRAINER);
    ExpectingTrainer trainer(std::move(actions), std::move(expected));
    return measure_point(request, trainer, system_clock(), stop, on_progress);
  }

  TemporaryFolder folder;
  Request request;
  StopFlag stop;
  std::function<void(const Progress&)> on_progress;
};

TEST_F(MeasureChildTest, MeasuresAChildUntilTheWindowIsCompleteAndStopsIt) {
  const record::Record record =
      measure({"hello", "log:a word", "phase:load", "phase:train", "until-stop", "end"});
  EXPECT_EQ(record.status, Outcome::Ok) << record.reason;
  EXPECT_EQ(record.trainer_version, "7");
  EXPECT_GE(record.get("steps").as_int(), 20);
  EXPECT_GE(record.number("timed_s").value(), 0.02);
  EXPECT_EQ(record.get("tokens_nonpad").as_int(), 18 * record.get("steps").as_int());
  EXPECT_EQ(record.get("tokens").as_int(), 20 * record.get("steps").as_int());
  const double counted = record.number("tokens_per_s").value() * record.number("timed_s").value();
  EXPECT_NEAR(counted, record.number("tokens_nonpad").value(), 1e-6);
  EXPECT_GT(record.number("wall_s").value(), record.number("timed_s").value());
  EXPECT_GT(record.number("host_peak_bytes").value(), 0);
  EXPECT_EQ(record.number("peak_mem_bytes"), record.number("host_peak_bytes"));
  EXPECT_GE(record.number("setup_s").value(), 0);
  EXPECT_EQ(record.log_path, display_path(request.log_file) + ".gz");
}

TEST_F(MeasureChildTest, KillsAChildThatDoesNotHeedTheStop) {
  request.protocol.stop_grace_s = 0.05;
  const record::Record record = measure({"phase:train", "steps:100000000"});
  EXPECT_EQ(record.status, Outcome::Ok) << record.reason;
}

TEST_F(MeasureChildTest, NamesAnExitCodeWithTheLastWordsOfTheLog) {
  const record::Record record = measure(
      {"phase:train", "us:10", "steps:2", "log:first", "log:ValueError: bad value", "exit:3"});
  EXPECT_EQ(record.status, Outcome::Crashed);
  EXPECT_EQ(record.reason, "exit code 3 in step 3: ValueError: bad value");
  EXPECT_EQ(record.get("log_tail").as_string(), "first\nValueError: bad value");
  EXPECT_EQ(record.get("failed_step").as_int(), 3);
  EXPECT_TRUE(record.get("tokens_per_s").is_null());
}

TEST_F(MeasureChildTest, KeepsTheLogAndNoSecretOfIt) {
  const record::Record record =
      measure({"phase:train", "log:HF_TOKEN=planted1", "log:fatal: password: planted2", "exit:3"});
  EXPECT_EQ(record.reason, "exit code 3 in step 1: fatal: password: ***");
  EXPECT_EQ(record.get("log_tail").as_string(), "HF_TOKEN=***\nfatal: password: ***");
  EXPECT_EQ(read_kept_log(record.log_path), "HF_TOKEN=***\nfatal: password: ***\n");
  EXPECT_FALSE(std::filesystem::exists(request.log_file));
  EXPECT_TRUE(measure({"exit:3"}).log_path.empty()) << "it said nothing";
}

TEST_F(MeasureChildTest, NamesAnAbortAndASegmentationFault) {
  EXPECT_THAT(measure({"phase:load", "abort"}).reason,
              StartsWith("ended by signal 6 (abort) in phase load"));
  const record::Record record = measure({"phase:train", "segv"});
  EXPECT_EQ(record.status, Outcome::Crashed);
  EXPECT_THAT(record.reason, StartsWith("ended by signal 11 (segmentation fault) in step 1"));
}

TEST_F(MeasureChildTest, NamesAKillFromOutside) {
  const record::Record record = measure({"phase:train", "us:10", "steps:2", "signal:9"});
  EXPECT_EQ(record.status, Outcome::Killed);
  EXPECT_EQ(record.reason, "killed by signal 9 (often the host's memory killer) in step 3");
}

TEST_F(MeasureChildTest, TellsAGpuThatIsFullFromAKilledProcess) {
  const record::Record record = measure(
      {"log:torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", "exit:1"});
  EXPECT_EQ(record.status, Outcome::OomGpu);
  EXPECT_THAT(record.reason, StartsWith("torch.OutOfMemoryError: CUDA out of memory."));
}

TEST_F(MeasureChildTest, TakesTheErrorThatTheChildTells) {
  const record::Record oom = measure(
      {"phase:load",
       R"(raw:{"event":"error","kind":"oom_host","message":"needs 9 GiB","needed_bytes":9})",
       "exit:1"});
  EXPECT_EQ(oom.status, Outcome::OomHost);
  EXPECT_EQ(oom.reason, "needs 9 GiB");
  EXPECT_EQ(oom.get("needed_bytes").as_int(), 9);
  const record::Record invalid = measure(
      {R"(raw:{"event":"error","kind":"invalid_config","message":"no such model"})", "exit:1"});
  EXPECT_EQ(invalid.status, Outcome::InvalidConfig);
}

TEST_F(MeasureChildTest, KillsAChildThatHangsWithoutAnEvent) {
  request.protocol.timeout_s = 0.2;
  const record::Record record = measure({"hang"});
  EXPECT_EQ(record.status, Outcome::Timeout);
  EXPECT_THAT(record.reason, HasSubstr("killed before its first event"));
}

TEST_F(MeasureChildTest, NamesTheStepInWhichAChildHung) {
  request.protocol.timeout_s = 3;  // the two steps take 20 microseconds
  const record::Record record = measure({"phase:train", "us:10", "steps:2", "hang"});
  EXPECT_EQ(record.status, Outcome::Timeout);
  EXPECT_EQ(record.reason, "took longer than 3.0 s, killed in step 3");
}

TEST_F(MeasureChildTest, DoesNotWaitForTheTimeoutWhenNoStepComes) {
  request.protocol.stall_s = 0.2;
  request.protocol.stall_steps = 10;
  const record::Record record = measure({"phase:train", "us:1000", "steps:5", "hang"});
  EXPECT_EQ(record.status, Outcome::Timeout);
  EXPECT_THAT(record.reason, StartsWith("no step for "));
  EXPECT_THAT(record.reason, HasSubstr("killed in step 6"));
}

TEST_F(MeasureChildTest, GivesASavingChildItsTime) {
  request.protocol.stall_s = 0.05;
  const record::Record record =
      measure({"hello", "phase:train", "us:1000", "until-stop", "phase:save", "sleep:300", "end"});
  EXPECT_EQ(record.status, Outcome::Ok) << record.reason;
}

TEST_F(MeasureChildTest, CountsEverythingBeforeALineThatWasCutShort) {
  const record::Record record = measure(
      {"phase:train", "us:10", "steps:4", R"(cut:{"event":"step","n":5,"t0":1)", "signal:9"});
  EXPECT_EQ(record.status, Outcome::Killed);
  EXPECT_EQ(record.get("steps_total").as_int(), 4);
  EXPECT_EQ(record.get("tokens_nonpad_total").as_int(), 4 * 18);
}

TEST_F(MeasureChildTest, NeverTakesASilentExitForASuccess) {
  EXPECT_EQ(measure({"exit:0"}).reason,
            "ended with exit code 0 but without an end event before its first step");
  EXPECT_EQ(measure({"end"}).reason, "ended without a single step");
  EXPECT_EQ(measure({"raw:loss 3.2", "raw:loss 3.1", "end"}).reason,
            "ended without a single step (2 lines were no events)");
}

TEST_F(MeasureChildTest, KillsAChildThatClosesItsEventsAndStays) {
  request.protocol.stop_grace_s = 0.1;
  const record::Record record =
      measure({"phase:train", "us:10", "steps:2", "close-events", "hang"});
  EXPECT_EQ(record.status, Outcome::Crashed);
  EXPECT_EQ(record.reason, "closed its events after step 2 but did not exit, killed");
}

TEST_F(MeasureChildTest, EndsAfterTheRunningStepOnTheFirstInterrupt) {
  request.protocol.min_timed_steps = 1'000'000;
  request.protocol.interrupt_grace_s = 60;
  on_progress = [this](const Progress& progress) {
    if (progress.steps > 0) {
      stop.level = 1;
    }
  };
  const record::Record record = measure({"phase:train", "until-stop", "end"});
  EXPECT_EQ(record.status, Outcome::Interrupted);
  EXPECT_THAT(record.reason, StartsWith("interrupted after step "));
  EXPECT_EQ(record.get("steps_total").is_null(), false);
}

TEST_F(MeasureChildTest, KillsAtOnceOnTheSecondInterrupt) {
  on_progress = [this](const Progress&) { stop.level = 2; };
  const record::Record record = measure({"phase:train", "hang"});
  EXPECT_EQ(record.status, Outcome::Interrupted);
  EXPECT_LT(record.number("wall_s").value(), 60);
}

TEST_F(MeasureChildTest, DoesNotWaitForARendezvousThatHangs) {
  request.protocol.first_step_s = 0.3;
  const record::Record record = measure({"hang"}, {.ranks = 2, .device = "cpu"});
  EXPECT_EQ(record.status, Outcome::Timeout);
  EXPECT_THAT(record.reason, StartsWith("no process has begun to train for "));
  EXPECT_LT(record.number("wall_s").value(), 60);
}

TEST_F(MeasureChildTest, NamesTheRankThatNeverBegan) {
  request.protocol.first_step_s = 0.3;
  const record::Record record = measure(
      {R"(raw:{"event":"hello","trainer":"t","world":2,"rank":0})",
       R"(raw:{"event":"step","n":1,"t0":1,"t1":2,"samples":1,"tokens":1,"tokens_nonpad":1,"tokens_trained":1,"rank":0})",
       "hang"},
      {.ranks = 2, .device = "cpu"});
  EXPECT_EQ(record.status, Outcome::Timeout);
  EXPECT_THAT(record.reason, StartsWith("no first step of rank 1 of 2 for "));
}

TEST_F(MeasureChildTest, WaitsAsLongAsEventsComeBeforeTheFirstStep) {
  request.protocol.first_step_s = 1.0;
  request.point.inputs["max_steps"] = 2;
  const record::Record record =
      measure({"hello", "sleep:600", "phase:load", "sleep:600", "phase:train", "steps:2", "end"},
              {.ranks = 1, .device = "cpu"});
  EXPECT_EQ(record.status, Outcome::Ok) << record.reason;
}

TEST_F(MeasureChildTest, ATrainerThatTakesLongToExitIsGivenTheTimeThatItAsksFor) {
  request.protocol.stop_grace_s = 0.05;
  request.point.inputs["max_steps"] = 2;
  const std::vector<std::string> slow{"hello", "steps:2", "end", "sleep:600"};
  EXPECT_EQ(measure(slow).reason, "told its end but did not exit, killed");
  const record::Record record = measure(slow, {.exit_s = 60});
  EXPECT_EQ(record.status, Outcome::Ok) << record.reason;
}

TEST_F(MeasureChildTest, AnotherDeviceThanAskedForIsNoResult) {
  request.point.inputs["max_steps"] = 2;
  const record::Record record =
      measure({"hello", "steps:2", "end"}, {.ranks = 1, .device = "cuda"});
  EXPECT_EQ(record.status, Outcome::Cuda);
  EXPECT_EQ(record.reason, "asked for cuda, but rank 0 trained on cpu");
}

TEST_F(MeasureChildTest, ThrowsOnlyWhenTheChildCannotBeStarted) {
  const std::unique_ptr<trainer::Trainer> trainer =
      trainer::make_command_trainer({"/nowhere/trainer"});
  EXPECT_THROW(measure_point(request, *trainer, system_clock(), stop, nullptr), Error);
}

/// The rate against a clock that is not the trainer's: steps of known length, timed by a sleep.
TEST_F(MeasureChildTest, CountsNoTimeBetweenStepsAndNoneThatIsNotThere) {
  request.point.inputs["max_steps"] = 6;
  const record::Record record =
      measure({"phase:train", "us:20000", "steps:3", "sleep:200", "steps:3", "end"});
  EXPECT_EQ(record.status, Outcome::Ok) << record.reason;
  EXPECT_EQ(record.get("steps").as_int(), 3);
  EXPECT_GE(record.number("timed_s").value(), 0.06);
  EXPECT_GE(record.number("train_runtime").value(), 0.32);
  EXPECT_GE(record.number("overhead_s").value(), 0.2);
}

}  // namespace
}  // namespace tunebench::measure
