// The protocol with a trainer of memory and a clock of the test: nothing here waits.
#include <csignal>
#include <deque>
#include <limits>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/measure/measure.h"

namespace tunebench::measure {
namespace {

using record::Outcome;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

class FakeClock final : public Clock {
 public:
  [[nodiscard]] nanoseconds now() const override { return now_; }
  void sleep_for(nanoseconds duration) override { now_ += duration; }
  [[nodiscard]] std::int64_t unix_seconds() const override { return 1'796'113'800; }

 private:
  nanoseconds now_ = seconds(1000);
};

/// What the trainer of a test does.
struct Script {
  std::deque<std::pair<nanoseconds, trainer::Event>> events;  ///< after the one before, what comes
  bool heeds_stop = true;  ///< ends after the step that runs when it was asked to
  bool hangs = false;      ///< does not end after its last event
  ExitStatus exit;         ///< when it ends by itself
  bool stop_requested = false;
  bool killed = false;
};

class FakeRunning final : public trainer::Running {
 public:
  FakeRunning(Script& script, FakeClock& clock) : script_(script), clock_(clock) {}

  std::optional<trainer::Event> next_event(nanoseconds timeout) override {
    if (script_.killed) {
      ended_ = true;
    }
    if (script_.stop_requested && script_.heeds_stop && !stopped_) {
      stopped_ = true;
      cut_after_running_step();
    }
    if (script_.events.empty()) {
      ended_ = ended_ || !script_.hangs;
      if (!ended_) {
        clock_.sleep_for(timeout);
      }
      return std::nullopt;
    }
    if (ended_) {
      return std::nullopt;
    }
    auto& [delay, event] = script_.events.front();
    const nanoseconds left = delay - waited_;
    if (left > timeout) {
      waited_ += timeout;
      clock_.sleep_for(timeout);
      return std::nullopt;
    }
    clock_.sleep_for(left);
    waited_ = nanoseconds::zero();
    trainer::Event now = std::move(event);
    stamp(now, delay);
    script_.events.pop_front();
    return now;
  }
  [[nodiscard]] bool stream_ended() const override { return ended_; }
  void request_stop() override { script_.stop_requested = true; }
  void kill() override { script_.killed = true; }
  ExitStatus wait(nanoseconds timeout) override {
    if (script_.killed) {
      return {.signal = SIGKILL};
    }
    if (script_.hangs) {
      clock_.sleep_for(timeout);
      return {.signal = SIGKILL};
    }
    return script_.exit;
  }

 private:
  /// What was written before the stop was read, one more step, then the end.
  void cut_after_running_step() {
    while (script_.events.size() > 1) {
      script_.events.pop_back();
    }
    const std::int64_t last =
        script_.events.empty()
            ? steps_
            : steps_ + (std::holds_alternative<trainer::StepEvent>(script_.events.front().second)
                            ? 1
                            : 0);
    script_.events.emplace_back(milliseconds(1), trainer::EndEvent{.status = "ok", .steps = last});
  }

  /// Steps take the time that passed before they came.
  void stamp(trainer::Event& event, nanoseconds took) {
    if (auto* step = std::get_if<trainer::StepEvent>(&event)) {
      step->n = ++steps_;
      step->t1 = clock_.now().count();
      step->t0 = step->t1 - took.count();
    }
  }

  Script& script_;
  FakeClock& clock_;
  bool ended_ = false;
  bool stopped_ = false;
  std::int64_t steps_ = 0;
  nanoseconds waited_{0};  ///< for the first event of the script
};

class FakeTrainer final : public trainer::Trainer {
 public:
  FakeTrainer(Script& script, FakeClock& clock) : script_(script), clock_(clock) {}
  [[nodiscard]] std::string name() const override { return "fake"; }
  [[nodiscard]] std::string version() const override { return "1"; }
  std::unique_ptr<trainer::Running> start(const trainer::Job& job) override {
    started = job;
    return std::make_unique<FakeRunning>(script_, clock_);
  }
  trainer::Job started;

 private:
  Script& script_;
  FakeClock& clock_;
};

class MeasurePointTest : public testing::Test {
 protected:
  MeasurePointTest() {
    request.point.experiment = "finetune_full_benchmark-v1.0.0";
    request.point.inputs = {{"batch_size", 2},           {"gradient_accumulation_steps", 4},
                            {"model_max_length", 512},   {"number_gpus", 0},
                            {"max_steps", -1},           {"num_train_epochs", 1.0},
                            {"stop_after_seconds", -1.0}};
    request.planned_steps = 500;
  }

  void say(const trainer::Event& event, nanoseconds after = milliseconds(10)) {
    script.events.emplace_back(after, event);
  }
  void say_steps(int count, nanoseconds each = milliseconds(500)) {
    for (int i = 0; i < count; ++i) {
      trainer::StepEvent step;
      step.samples = 8;
      step.tokens = 4096;
      step.tokens_nonpad = 4000;
      step.tokens_trained = 3992;
      step.loss = 3.0 - 0.01 * i;
      step.grad_norm = 0.5;
      step.learning_rate = 1e-5;
      say(step, each);
    }
  }
  void say_begin() {
    say(trainer::HelloEvent{.trainer = "fake", .device = "cpu", .notes = {{"threads", "2"}}});
    say(trainer::PhaseEvent{.name = "load"}, milliseconds(500));
    say(trainer::PhaseEvent{.name = "train"}, seconds(2));
  }
  void say_end(std::int64_t steps) { say(trainer::EndEvent{.status = "ok", .steps = steps}); }

  record::Record measure() {
    FakeTrainer trainer(script, clock);
    record::Record record =
        measure_point(request, trainer, clock, stop, [this](const Progress& progress) {
          told.push_back(progress);
          if (on_progress) {
            on_progress(progress);
          }
        });
    started = trainer.started;
    return record;
  }

  Script script;
  FakeClock clock;
  StopFlag stop;
  Request request;
  std::vector<Progress> told;
  std::function<void(const Progress&)> on_progress;
  trainer::Job started;
};

void expect_outcome(const record::Record& record, Outcome outcome, std::string_view reason) {
  EXPECT_EQ(record::outcome_name(record.status), record::outcome_name(outcome));
  EXPECT_EQ(record.reason, reason);
}

TEST_F(MeasurePointTest, StopsTheChildWhenTheWindowIsCompleteAndCountsToTheToken) {
  say_begin();
  say_steps(500);
  const record::Record record = measure();
  expect_outcome(record, Outcome::Ok, "");
  EXPECT_TRUE(script.stop_requested);
  EXPECT_FALSE(script.killed);
  EXPECT_EQ(record.get("warmup").as_string(), "steady");
  EXPECT_EQ(record.get("warmup_steps").as_int(), 10);
  EXPECT_EQ(record.get("steps").as_int(), 20);
  EXPECT_EQ(record.get("tokens_nonpad").as_int(), 20 * 4000);
  EXPECT_DOUBLE_EQ(record.number("timed_s").value(), 10.0);
  EXPECT_DOUBLE_EQ(record.number("tokens_per_s").value() * record.number("timed_s").value(),
                   20 * 4000.0);
  // The step that ran when it was asked to stop is told, but not part of the window.
  EXPECT_EQ(record.get("steps_total").as_int(), 31);
}

TEST_F(MeasurePointTest, FillsTheRecordFromPointTrainerAndClock) {
  say_begin();
  say_steps(500);
  const record::Record record = measure();
  EXPECT_EQ(record.experiment, "finetune_full_benchmark-v1.0.0");
  EXPECT_EQ(record.inputs, request.point.inputs);
  EXPECT_EQ(record.trainer, "fake");
  EXPECT_EQ(record.trainer_version, "1");
  EXPECT_EQ(record.started_at, iso_time(clock.unix_seconds()));
  EXPECT_EQ(record.log_path, "");
  EXPECT_EQ(record.get("threads").as_int(), 2);
  EXPECT_DOUBLE_EQ(record.number("loss_first").value(), 3.0);
  EXPECT_NEAR(record.number("setup_s").value(), 2.51, 1e-6);
  EXPECT_EQ(started.planned_steps, 500);
  EXPECT_EQ(started.point.inputs, request.point.inputs);
}

TEST_F(MeasurePointTest, RunsExactlyAsLongAsThePointAsks) {
  request.point.inputs["max_steps"] = 60;
  request.planned_steps = 60;
  say_begin();
  say_steps(60);
  say_end(60);
  const record::Record record = measure();
  expect_outcome(record, Outcome::Ok, "");
  EXPECT_FALSE(script.stop_requested);
  EXPECT_EQ(record.get("steps").as_int(), 50);
  EXPECT_EQ(record.get("steps_total").as_int(), 60);
}

TEST_F(MeasurePointTest, GivesAFiniteRateFromASingleStep) {
  request.point.inputs["max_steps"] = 1;
  request.planned_steps = 1;
  say_begin();
  say_steps(1);
  say_end(1);
  const record::Record record = measure();
  expect_outcome(record, Outcome::Ok, "");
  EXPECT_EQ(record.get("warmup").as_string(), "none");
  EXPECT_DOUBLE_EQ(record.number("tokens_per_s").value(), 8000.0);
}

TEST_F(MeasurePointTest, StopsATrainerAfterTheSecondsThatThePointGives) {
  request.point.inputs["stop_after_seconds"] = 4.0;
  say_begin();
  say_steps(500);
  const record::Record record = measure();
  expect_outcome(record, Outcome::Ok, "");
  EXPECT_TRUE(script.stop_requested);
  // Eight steps of half a second, and the one that ran when the stop came.
  EXPECT_EQ(record.get("steps_total").as_int(), 9);
  EXPECT_EQ(record.get("warmup").as_string(), "short");
  EXPECT_EQ(record.get("steps").as_int(), 6);
}

TEST_F(MeasurePointTest, StopsAfterTheFirstStepForZeroSeconds) {
  request.point.inputs["stop_after_seconds"] = 0.0;
  say_begin();
  say_steps(1);
  say_end(1);
  const record::Record record = measure();
  expect_outcome(record, Outcome::Ok, "");
  EXPECT_EQ(record.get("steps").as_int(), 1);
}

TEST_F(MeasurePointTest, TakesASmallDatasetThatEndsBeforeTheWindow) {
  request.planned_steps = 7;
  say_begin();
  say_steps(7);
  say_end(7);
  const record::Record record = measure();
  expect_outcome(record, Outcome::Ok, "");
  EXPECT_EQ(record.get("warmup").as_string(), "short");
  EXPECT_EQ(record.get("steps").as_int(), 4);
}

TEST_F(MeasurePointTest, KillsATrainerThatDoesNotHeedTheStopAndKeepsTheWindow) {
  script.heeds_stop = false;
  say_begin();
  say_steps(5000);
  const record::Record record = measure();
  expect_outcome(record, Outcome::Ok, "");
  EXPECT_TRUE(script.killed);
  EXPECT_EQ(record.get("steps").as_int(), 20);
  // 10 s of grace and two steps.
  EXPECT_NEAR(record.number("wall_s").value(), 2.51 + 15 + 11, 0.6);
}

TEST_F(MeasurePointTest, GivesASlowStepTimeToEndAfterAStop) {
  request.protocol.min_timed_s = 1;
  say_begin();
  say_steps(3, seconds(40));  // warm-up is capped here
  say_steps(20, seconds(80));
  say_steps(1, seconds(80));
  const record::Record record = measure();
  expect_outcome(record, Outcome::Ok, "");
  EXPECT_FALSE(script.killed);
  EXPECT_EQ(record.get("warmup").as_string(), "capped");
}

TEST_F(MeasurePointTest, KillsAPointThatTakesTooLongAndNamesItsStep) {
  request.protocol.timeout_s = 60;
  script.hangs = true;
  say_begin();
  say_steps(4);
  const record::Record record = measure();
  expect_outcome(record, Outcome::Timeout, "took longer than 1 min 0 s, killed in step 5");
  EXPECT_TRUE(script.killed);
  EXPECT_EQ(record.get("failed_phase").as_string(), "train");
  EXPECT_EQ(record.get("failed_step").as_int(), 5);
  EXPECT_TRUE(record.get("tokens_per_s").is_null());
  EXPECT_EQ(record.get("steps_total").as_int(), 4);
  EXPECT_NEAR(record.number("wall_s").value(), 60, 0.2);
}

TEST_F(MeasurePointTest, KillsATrainerThatNeverSaysAnything) {
  request.protocol.timeout_s = 60;
  script.hangs = true;
  const record::Record record = measure();
  expect_outcome(record, Outcome::Timeout,
                 "took longer than 1 min 0 s, killed before its first event");
  EXPECT_EQ(record.get("failed_phase").as_string(), "start");
  EXPECT_TRUE(record.get("failed_step").is_null());
}

TEST_F(MeasurePointTest, DoesNotTakeAStepAsAnEnd) {
  say_begin();
  say_steps(20);
  expect_outcome(measure(), Outcome::Crashed,
                 "ended with exit code 0 but without an end event after step 20");
}

TEST_F(MeasurePointTest, KillsATrainerThatToldItsEndAndStays) {
  script.hangs = true;
  request.planned_steps = 7;
  say_begin();
  say_steps(7);
  say_end(7);
  expect_outcome(measure(), Outcome::Crashed, "told its end but did not exit, killed");
  EXPECT_TRUE(script.killed);
}

TEST_F(MeasurePointTest, LetsATrainerSaveForLongerThanItsGrace) {
  request.protocol.min_timed_s = 1;
  say_begin();
  say_steps(30);
  script.heeds_stop = false;
  say(trainer::PhaseEvent{.name = "save"});
  say(trainer::EndEvent{.status = "ok", .steps = 30}, seconds(120));
  expect_outcome(measure(), Outcome::Ok, "");
  EXPECT_FALSE(script.killed);
}

TEST_F(MeasurePointTest, StopsARunWhoseCountsContradict) {
  say_begin();
  say_steps(3);
  std::get<trainer::StepEvent>(script.events.back().second).tokens_nonpad = 5000;
  say_steps(400);
  const record::Record record = measure();
  expect_outcome(record, Outcome::Crashed,
                 "the trainer's counts contradict: step 3: tokens_nonpad 5000 exceeds tokens 4096");
  EXPECT_EQ(record.get("steps_total").as_int(), 4);
}

TEST_F(MeasurePointTest, DoesNotCallALossThatIsNotFiniteASuccess) {
  request.point.inputs["max_steps"] = 5;
  request.planned_steps = 5;
  say_begin();
  say_steps(2);
  std::get<trainer::StepEvent>(script.events.back().second).loss =
      std::numeric_limits<double>::quiet_NaN();
  say_steps(3);
  say_end(5);
  const record::Record record = measure();
  expect_outcome(record, Outcome::Crashed, "loss is not finite in step 2 (1 of 5 steps)");
  EXPECT_EQ(record.get("nonfinite_steps").as_int(), 1);
  EXPECT_EQ(record.get("failed_step").as_int(), 2);
}

TEST_F(MeasurePointTest, TakesTheErrorThatTheTrainerTells) {
  script.exit.code = 1;
  say(trainer::PhaseEvent{.name = "load"});
  say(trainer::ErrorEvent{.kind = "oom_host",
                          .message = "needs 3 GiB, may use 2 GiB",
                          .needed_bytes = std::int64_t{3} << 30,
                          .phase = "load"});
  const record::Record record = measure();
  expect_outcome(record, Outcome::OomHost, "needs 3 GiB, may use 2 GiB");
  EXPECT_EQ(record.get("needed_bytes").as_int(), std::int64_t{3} << 30);
  EXPECT_EQ(record.get("failed_phase").as_string(), "load");
}

TEST_F(MeasurePointTest, EndsAfterTheRunningStepOnTheFirstInterrupt) {
  on_progress = [this](const Progress& progress) {
    if (progress.steps == 4) {
      stop.level = 1;
    }
  };
  say_begin();
  say_steps(500, seconds(1));
  const record::Record record = measure();
  expect_outcome(record, Outcome::Interrupted, "interrupted after step 5");
  EXPECT_TRUE(script.stop_requested);
  EXPECT_FALSE(script.killed);
}

TEST_F(MeasurePointTest, DoesNotWaitForALongStepOnTheFirstInterrupt) {
  on_progress = [this](const Progress& progress) {
    if (progress.steps == 1) {
      stop.level = 1;
    }
  };
  script.heeds_stop = false;
  say_begin();
  say_steps(500, seconds(80));
  const record::Record record = measure();
  expect_outcome(record, Outcome::Interrupted, "interrupted after step 1");
  EXPECT_TRUE(script.killed);
  EXPECT_NEAR(record.number("wall_s").value(), 2.51 + 80 + 3, 0.5);
}

TEST_F(MeasurePointTest, KillsAtOnceOnTheSecondInterrupt) {
  on_progress = [this](const Progress& progress) {
    if (progress.steps == 1) {
      stop.level = 2;
    }
  };
  say_begin();
  say_steps(500, seconds(80));
  const record::Record record = measure();
  expect_outcome(record, Outcome::Interrupted, "interrupted after step 1");
  EXPECT_TRUE(script.killed);
  EXPECT_NEAR(record.number("wall_s").value(), 2.51 + 80, 0.5);
}

TEST_F(MeasurePointTest, KeepsAWindowThatWasCompleteBeforeTheInterrupt) {
  on_progress = [this](const Progress& progress) {
    if (progress.phase == "timed" && progress.steps == 20) {
      stop.level = 1;
    }
  };
  say_begin();
  say_steps(500);
  expect_outcome(measure(), Outcome::Ok, "");
}

TEST_F(MeasurePointTest, TellsPhasesStepsAndTheTimeLeft) {
  say_begin();
  say_steps(500);
  static_cast<void>(measure());
  std::vector<std::string> phases;
  for (const Progress& progress : told) {
    if (phases.empty() || phases.back() != progress.phase) {
      phases.push_back(progress.phase);
    }
  }
  EXPECT_THAT(phases, testing::ElementsAre("start", "load", "warm-up", "timed"));
  EXPECT_EQ(told.front().steps, 0);
  for (const Progress& progress : told) {
    if (progress.phase == "timed" && progress.steps == 5) {
      EXPECT_EQ(progress.steps_wanted, 20);
      EXPECT_DOUBLE_EQ(progress.seconds_left, 7.5);
      EXPECT_DOUBLE_EQ(progress.tokens_per_s_now, 8000.0);
    }
  }
}

TEST_F(MeasurePointTest, TellsProgressNoMoreThanFourTimesASecondWithinAPhase) {
  request.planned_steps = 0;
  say_begin();
  say_steps(6000, milliseconds(1));
  static_cast<void>(measure());
  // Five seconds of steps, plus the phases before.
  EXPECT_LT(told.size(), 45U);
  EXPECT_GT(told.size(), 15U);
}

}  // namespace
}  // namespace tunebench::measure
