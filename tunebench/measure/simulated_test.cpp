// The whole protocol over simulated trainers whose true speed is known, on a clock that does not
// wait.
#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tunebench/base/files.h"
#include "tunebench/experiment/property.h"
#include "tunebench/measure/auto_stop.h"
#include "tunebench/measure/measure.h"
#include "tunebench/stats/summary.h"
#include "tunebench/trainer/simulated_trainer.h"

namespace tunebench::measure {
namespace {

using record::Outcome;
using testing::HasSubstr;

class SimulatedProtocol : public testing::Test {
 protected:
  SimulatedProtocol() {
    request.point.experiment = "finetune_full_benchmark-v1.0.0";
    for (const experiment::Property& property : experiment::properties()) {
      request.point.inputs[property.name] = property.default_value;
    }
    request.point.inputs["batch_size"] = 1;
    request.point.inputs["gradient_accumulation_steps"] = 1;
    request.point.inputs["model_max_length"] = 100;
    request.planned_steps = 1000;
    request.log_file = folder.path() / "log";
    request.protocol.timeout_s = 1e6;
  }
  record::Record measure(const std::string& model) {
    const double timeout_s = request.protocol.timeout_s;
    request.protocol = protocol_for(request.point);
    request.protocol.timeout_s = timeout_s;
    const std::unique_ptr<trainer::Trainer> trainer =
        trainer::make_simulated_trainer(trainer::parse_simulation(model, "model.json"), clock);
    return measure_point(request, *trainer, clock, stop, {});
  }
  void set(const char* name, const Json& value) { request.point.inputs[name] = value; }
  /// max_steps is both an input and the plan made from it.
  void set_max_steps(std::int64_t steps) {
    set("max_steps", steps);
    request.planned_steps = steps;
  }

  TemporaryFolder folder;
  test_support::FakeClock clock;
  StopFlag stop;
  Request request;
};

TEST_F(SimulatedProtocol, FindsTheSpeedBehindAWarmUp) {
  const record::Record record =
      measure(R"({"load_s":3,"step":{"base_s":1,"warmup":{"extra":5,"steps":2}}})");
  EXPECT_EQ(record.status, Outcome::Ok) << record.reason;
  EXPECT_EQ(record.trainer, "simulated");
  EXPECT_NEAR(*record.number("tokens_per_s"), 100, 1);
  EXPECT_EQ(record.get("warmup").as_string(), "steady");
  EXPECT_GE(*record.number("steps"), 20);
  EXPECT_NEAR(*record.number("load_s"), 3, 1e-9);
  EXPECT_NEAR(*record.number("setup_s"), 3, 1e-9);
  EXPECT_LT(*record.number("train_tokens_per_second"), 90) << "that one has warm-up in it";
}

// TPT-05: interval tokens over interval time, not all tokens over the last step.
TEST_F(SimulatedProtocol, TheRateDoesNotGrowWithTheNumberOfSteps) {
  set_max_steps(200);
  const double long_run = *measure(R"({"step":{"base_s":0.5}})").number("tokens_per_s");
  set_max_steps(50);
  EXPECT_NEAR(*measure(R"({"step":{"base_s":0.5}})").number("tokens_per_s"), long_run, 1e-9);
  EXPECT_NEAR(long_run, 200, 1e-9);
}

// TPT-06: n stamps are n steps from their begins to their ends.
TEST_F(SimulatedProtocol, ShortRunsHaveARateToTheToken) {
  for (std::int64_t steps = 1; steps <= 6; ++steps) {
    set_max_steps(steps);
    const record::Record record = measure(R"({"step":{"base_s":1,"noise":{"sd":0.1}}})");
    EXPECT_EQ(record.status, Outcome::Ok) << record.reason;
    const double rate = *record.number("tokens_per_s");
    EXPECT_TRUE(std::isfinite(rate));
    EXPECT_NEAR(rate * *record.number("timed_s"), *record.number("tokens_nonpad"), 1e-6);
    EXPECT_EQ(*record.number("steps") + *record.number("warmup_steps"), static_cast<double>(steps));
  }
}

// TPT-07: the same work in one step, whole or accumulated.
TEST_F(SimulatedProtocol, AccumulatedSamplesCount) {
  set_max_steps(10);
  set("batch_size", 4);
  const record::Record whole = measure(R"({"step":{"per_token_s":0.001}})");
  set("batch_size", 1);
  set("gradient_accumulation_steps", 4);
  const record::Record accumulated = measure(R"({"step":{"per_token_s":0.001}})");
  for (const char* field : {"tokens_per_s", "tokens", "samples", "steps", "train_runtime"}) {
    EXPECT_EQ(*whole.number(field), *accumulated.number(field)) << field;
  }
}

TEST_F(SimulatedProtocol, StopAfterSecondsEndsAfterTheRunningStepAndHoldsWholeSteps) {
  set("stop_after_seconds", 10.5);
  const record::Record record = measure(R"({"step":{"base_s":1}})");
  EXPECT_EQ(record.status, Outcome::Ok) << record.reason;
  EXPECT_EQ(*record.number("steps_total"), 11);
  EXPECT_DOUBLE_EQ(*record.number("train_runtime"), 11);
  EXPECT_DOUBLE_EQ(*record.number("timed_s"), *record.number("steps"));
}

TEST_F(SimulatedProtocol, AutoStopEndsTheRunBeforeItsOtherBounds) {
  set("auto_stop_method", "WARMUP_60S_STABLE_120S_OR_10_STEPS");
  set_max_steps(1000);
  const record::Record record = measure(R"({"step":{"base_s":10}})");
  EXPECT_EQ(record.status, Outcome::Ok) << record.reason;
  EXPECT_EQ(record.get("auto_stop").as_string(), "satisfied");
  EXPECT_EQ(record.get("warmup").as_string(), "auto_stop");
  EXPECT_EQ(*record.number("steps"), 12);
  EXPECT_EQ(*record.number("warmup_steps"), 7);
  EXPECT_DOUBLE_EQ(*record.number("train_runtime"), 120);
  EXPECT_DOUBLE_EQ(*record.number("train_tokens_per_second"), 10);
}

TEST_F(SimulatedProtocol, AutoStopTellsThatTrainingEndedFirst) {
  set("auto_stop_method", "WARMUP_60S_STABLE_120S_OR_10_STEPS");
  set_max_steps(10);
  const record::Record bounded = measure(R"({"step":{"base_s":10}})");
  EXPECT_EQ(bounded.status, Outcome::Ok) << bounded.reason;
  EXPECT_EQ(bounded.get("auto_stop").as_string(), "training ended first");
  EXPECT_EQ(*bounded.number("steps_total"), 10);
  set("max_steps", -1);
  set("stop_after_seconds", 30.0);
  const record::Record stopped = measure(R"({"step":{"base_s":10}})");
  EXPECT_EQ(stopped.status, Outcome::Ok) << stopped.reason;
  EXPECT_EQ(stopped.get("auto_stop").as_string(), "training ended first");
  EXPECT_EQ(*stopped.number("steps_total"), 3);
}

TEST_F(SimulatedProtocol, NamesEveryEndOfAModel) {
  const auto end_of = [this](const std::string& how) {
    return measure(R"({"step":{"base_s":1},"failures":[{"step":3,)" + how + "}]}");
  };
  for (const char* kind : {"oom_gpu", "oom_host", "nccl", "cuda", "io", "killed", "crashed"}) {
    const record::Record record = end_of(std::string(R"("error":")") + kind + R"(","message":"m")");
    EXPECT_EQ(record::outcome_name(record.status), kind);
    EXPECT_EQ(record.reason, "m");
    EXPECT_EQ(*record.number("failed_step"), 3);
  }
  EXPECT_EQ(end_of(R"("exit":7)").status, Outcome::Crashed);
  EXPECT_EQ(end_of(R"("signal":11)").status, Outcome::Crashed);
  EXPECT_EQ(end_of(R"("signal":9)").status, Outcome::Killed);
  const record::Record log =
      end_of(R"("log":"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB")");
  EXPECT_EQ(log.status, Outcome::OomGpu);
  EXPECT_THAT(log.get("log_tail").as_string(), HasSubstr("CUDA out of memory"));
  request.protocol.timeout_s = 50;
  EXPECT_EQ(end_of(R"("hang":true)").status, Outcome::Timeout);
}

TEST_F(SimulatedProtocol, MemoryBeyondTheLimitIsAnOutcomeWithItsNeed) {
  const char* model = R"({"step":{"base_s":1},"memory":{"base_bytes":1073741824,
      "per_token_bytes":10737418,"limit_bytes":3221225472,"kind":"oom_host"}})";
  EXPECT_EQ(measure(model).status, Outcome::Ok);
  set("batch_size", 4);
  const record::Record record = measure(model);
  EXPECT_EQ(record.status, Outcome::OomHost);
  EXPECT_EQ(record.reason, "needs 5.00 GiB, may use 3.00 GiB");
  EXPECT_EQ(*record.number("needed_bytes"), 1073741824 + 400 * 10737418.0);
}

/// Share of 95 % intervals over n repeats that hold the true rate.
class Coverage : public SimulatedProtocol, public testing::WithParamInterface<int> {
 protected:
  double share(const std::string& model, double truth, int draws) {
    int held = 0;
    for (int draw = 0; draw < draws; ++draw) {
      std::vector<double> rates;
      for (int i = 0; i < GetParam(); ++i) {
        request.repeat = draw * GetParam() + i + 1;
        rates.push_back(measure(model).number("tokens_per_s").value());
      }
      const stats::Interval interval = stats::mean_interval(rates).value();
      held += interval.low <= truth && truth <= interval.high ? 1 : 0;
    }
    return static_cast<double>(held) / draws;
  }
};

TEST_P(Coverage, OfKnownNoiseIs95Percent) {
  // A rate is one over a duration: E(exp(-sd z)) = exp(sd^2 / 2). The noise of single steps all but
  // averages out over a window of at least 20.
  const double truth = 100.0 * std::exp(0.02 * 0.02 / 2);
#ifdef TB_SANITIZED  // what a sanitizer can find, it finds in some draws
  const int draws = 30;
  const double allowed = 0.15;
#else
  const int draws = 1000;
  const double allowed = 0.02;
#endif
  const double covered =
      share(R"({"seed":1,"step":{"base_s":1,"noise":{"sd":0.01},"run_noise":{"sd":0.02}}})", truth,
            draws);
  EXPECT_NEAR(covered, 0.95, allowed);
}

INSTANTIATE_TEST_SUITE_P(Repeats, Coverage, testing::Values(3, 5, 10));

}  // namespace
}  // namespace tunebench::measure
