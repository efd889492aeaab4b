#include "tunebench/trainer/simulated_run.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::trainer {
namespace {

using testing::ElementsAre;

Job job(std::int64_t steps, int batch = 2) {
  Job job;
  job.point.inputs = {{"batch_size", batch},
                      {"gradient_accumulation_steps", 3},
                      {"model_max_length", 100},
                      {"number_gpus", 0}};
  job.planned_steps = steps;
  return job;
}

struct Played {
  std::vector<std::string> names;  ///< of events, "log", "end"
  std::vector<StepEvent> steps;
  std::vector<PhaseEvent> phases;
  std::vector<MemoryEvent> memories;
  std::vector<ErrorEvent> errors;
  SimulatedEnd end;
  std::chrono::nanoseconds took{0};
};

/// Plays to the end; asks to stop before the step after `stop_after`.
Played play(const std::string& text, const Job& job, std::int64_t stop_after = -1) {
  const Simulation simulation = parse_simulation(text, "m.json");
  SimulatedRun run(simulation, job, 5'000, 42);
  Played played;
  while (true) {
    const SimulatedMoment moment =
        run.next(static_cast<std::int64_t>(played.steps.size()) == stop_after);
    played.took = moment.at;
    if (const auto* end = std::get_if<SimulatedEnd>(&moment.what)) {
      played.end = *end;
      return played;
    }
    if (std::holds_alternative<SimulatedLog>(moment.what)) {
      played.names.emplace_back("log");
      continue;
    }
    const Event& event = std::get<Event>(moment.what);
    if (const auto* step = std::get_if<StepEvent>(&event)) {
      played.steps.push_back(*step);
      played.names.emplace_back("step");
    } else if (const auto* phase = std::get_if<PhaseEvent>(&event)) {
      played.phases.push_back(*phase);
      played.names.push_back(phase->name);
    } else if (const auto* memory = std::get_if<MemoryEvent>(&event)) {
      played.memories.push_back(*memory);
      played.names.emplace_back("memory");
    } else if (const auto* error = std::get_if<ErrorEvent>(&event)) {
      played.errors.push_back(*error);
      played.names.emplace_back("error");
    } else {
      played.names.emplace_back(std::holds_alternative<HelloEvent>(event) ? "hello" : "the end");
    }
  }
}

double seconds(const StepEvent& step) {
  return static_cast<double>(step.t1 - step.t0) / 1e9;
}

TEST(SimulatedRun, TellsAWholeRun) {
  const Played played = play(
      R"({"load_s":2,"save_s":1,"padding":0.1,"step":{"base_s":0.5,"per_token_s":0.001}})", job(2));
  EXPECT_THAT(played.names,
              ElementsAre("hello", "load", "train", "step", "step", "save", "the end"));
  EXPECT_EQ(played.phases[1].t, 5'000 + 2'000'000'000);
  const StepEvent& first = played.steps[0];
  EXPECT_EQ(first.n, 1);
  EXPECT_EQ(first.t0, played.phases[1].t);
  EXPECT_DOUBLE_EQ(seconds(first), 1.1) << "0.5 s and 600 tokens";
  EXPECT_EQ(first.samples, 6);
  EXPECT_EQ(first.tokens, 600);
  EXPECT_EQ(first.tokens_nonpad, 540);
  EXPECT_EQ(first.tokens_trained, 534);
  EXPECT_EQ(played.steps[1].t0, first.t1);
  EXPECT_EQ(played.took, std::chrono::milliseconds(2000 + 2200 + 1000));
  EXPECT_EQ(played.end.exit_code, 0);
}

TEST(SimulatedRun, EndsAfterTheStepThatRunsWhenItIsAskedTo) {
  EXPECT_EQ(play(R"({"step":{"base_s":1}})", job(100), 3).steps.size(), 3U);
  Job bounded = job(100);
  bounded.point.inputs["stop_after_seconds"] = 2.5;
  EXPECT_EQ(play(R"({"step":{"base_s":1}})", bounded).steps.size(), 3U);
  EXPECT_EQ(play(R"({"step":{"base_s":1}})", job(0), 7).steps.size(), 7U) << "no plan: until stop";
}

TEST(SimulatedRun, WarmsUpAndDrifts) {
  const Played warm = play(R"({"step":{"base_s":1,"warmup":{"extra":2,"steps":2}}})", job(30));
  EXPECT_NEAR(seconds(warm.steps[0]), 3.0, 1e-8);
  EXPECT_NEAR(seconds(warm.steps[2]), 1.0 + 2.0 / std::exp(1.0), 1e-8);
  EXPECT_NEAR(seconds(warm.steps[29]), 1.0, 1e-5);
  Job third = job(3);
  third.repeat = 3;
  const Played drifted =
      play(R"({"step":{"base_s":1,"drift_per_step":0.5,"drift_per_run":0.1}})", third);
  EXPECT_NEAR(seconds(drifted.steps[0]), 1.21, 1e-8);
  EXPECT_NEAR(seconds(drifted.steps[2]), 1.21 * 2.25, 1e-8);
}

TEST(SimulatedRun, NoiseHasItsWidthAndItsSeed) {
  const char* text = R"({"seed":3,"step":{"base_s":1,"noise":{"kind":"lognormal","sd":0.1}}})";
  const Played played = play(text, job(4000));
  double sum = 0;
  double squares = 0;
  for (const StepEvent& step : played.steps) {
    sum += std::log(seconds(step));
    squares += std::log(seconds(step)) * std::log(seconds(step));
  }
  EXPECT_NEAR(sum / 4000, 0, 0.006);
  EXPECT_NEAR(std::sqrt(squares / 4000), 0.1, 0.005);

  EXPECT_EQ(seconds(play(text, job(1)).steps[0]), seconds(played.steps[0])) << "same seed";
  Job second = job(1);
  second.repeat = 2;
  EXPECT_NE(seconds(play(text, second).steps[0]), seconds(played.steps[0]));
  second.repeat = 1;
  second.attempt = 2;
  EXPECT_NE(seconds(play(text, second).steps[0]), seconds(played.steps[0]));
  EXPECT_NE(seconds(play(text, job(1, 4)).steps[0]), seconds(played.steps[0])) << "another point";
}

TEST(SimulatedRun, NoiseOfARunIsOneFactor) {
  const char* text = R"({"step":{"base_s":1,"run_noise":{"kind":"normal","sd":0.1}}})";
  const Played played = play(text, job(3));
  EXPECT_NE(seconds(played.steps[0]), 1.0);
  EXPECT_EQ(seconds(played.steps[0]), seconds(played.steps[2]));
}

TEST(SimulatedRun, OutliersAreAsFrequentAsTheirShare) {
  const Played played =
      play(R"({"step":{"base_s":1,"outliers":{"steps":0.1,"factor":4}}})", job(1000));
  const auto slow = std::ranges::count_if(
      played.steps, [](const StepEvent& step) { return seconds(step) > 3.9; });
  EXPECT_NEAR(static_cast<double>(slow), 100, 30);
  const Played all = play(R"({"step":{"base_s":1,"outliers":{"runs":1,"factor":4}}})", job(2));
  EXPECT_DOUBLE_EQ(seconds(all.steps[1]), 4);
}

TEST(SimulatedRun, MemoryThatDoesNotFitIsTold) {
  const char* text = R"({"step":{"base_s":1},"memory":{"base_bytes":1000,"per_token_bytes":10,
                         "limit_bytes":3000,"kind":"oom_gpu"}})";
  const Played fits = play(text, job(2, 2));
  EXPECT_THAT(fits.names,
              ElementsAre("hello", "load", "train", "step", "memory", "step", "memory", "the end"));
  EXPECT_EQ(fits.memories[0].device_peak_bytes, 3000);
  EXPECT_EQ(fits.memories[0].host_peak_bytes, 0);
  const Played large = play(text, job(2, 3));
  EXPECT_THAT(large.names, ElementsAre("hello", "load", "error"));
  EXPECT_EQ(large.errors[0].kind, "oom_gpu");
  EXPECT_EQ(large.errors[0].needed_bytes, 4000);
  EXPECT_EQ(large.end.exit_code, 1);
}

TEST(SimulatedRun, FailsInTheRunsAndAttemptsThatAreNamed) {
  const char* text = R"({"step":{"base_s":1},"failures":[
      {"runs":[1,3],"step":2,"error":"oom_gpu","message":"full"},
      {"runs":[2],"attempts":[1],"signal":11,"log":"oops"}]})";
  const auto names = [text](std::int64_t repeat, std::int64_t attempt) {
    Job one = job(2);
    one.repeat = repeat;
    one.attempt = attempt;
    return play(text, one).names;
  };
  EXPECT_THAT(names(1, 1), ElementsAre("hello", "load", "train", "step", "error"));
  EXPECT_THAT(names(2, 1), ElementsAre("hello", "load", "train", "log"));
  EXPECT_THAT(names(2, 2), ElementsAre("hello", "load", "train", "step", "step", "the end"));
  EXPECT_THAT(names(3, 2), ElementsAre("hello", "load", "train", "step", "error"));
  EXPECT_THAT(names(4, 1), ElementsAre("hello", "load", "train", "step", "step", "the end"));
}

TEST(SimulatedRun, FailsWhileLoading) {
  const Played played =
      play(R"({"load_s":4,"step":{"base_s":1},"failures":[{"step":0,"exit":3}]})", job(2));
  EXPECT_THAT(played.names, ElementsAre("hello", "load"));
  EXPECT_EQ(played.end.exit_code, 3);
  EXPECT_EQ(played.took, std::chrono::seconds(2));
}

}  // namespace
}  // namespace tunebench::trainer
