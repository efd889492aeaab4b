// The worker as the process that it is: started by the native trainer, read as events.
#include <chrono>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/build_info.h"
#include "tunebench/base/files.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {
namespace {

using testing::HasSubstr;

constexpr std::chrono::seconds kWorkerLimit{120};

/// All that a worker told.
struct Told {
  std::vector<HelloEvent> hellos;
  std::vector<std::string> phases;
  std::vector<StepEvent> steps;
  std::vector<MemoryEvent> memory;
  std::vector<ErrorEvent> errors;
  std::vector<EndEvent> ends;
  ExitStatus exit;

  void add(const Event& event) {
    if (const auto* hello = std::get_if<HelloEvent>(&event)) {
      hellos.push_back(*hello);
    } else if (const auto* phase = std::get_if<PhaseEvent>(&event)) {
      phases.push_back(phase->name);
    } else if (const auto* step = std::get_if<StepEvent>(&event)) {
      steps.push_back(*step);
    } else if (const auto* peak = std::get_if<MemoryEvent>(&event)) {
      memory.push_back(*peak);
    } else if (const auto* error = std::get_if<ErrorEvent>(&event)) {
      errors.push_back(*error);
    } else {
      ends.push_back(std::get<EndEvent>(event));
    }
  }
  [[nodiscard]] std::string note(const std::string& name) const {
    for (const auto& [key, text] : hellos.at(0).notes) {
      if (key == name) {
        return text;
      }
    }
    return "none";
  }
};

class NativeWorkerTest : public testing::Test {
 protected:
  NativeWorkerTest() {
    const std::filesystem::path data = folder_.path() / "data.jsonl";
    std::ofstream(data) << "{\"output\":\"aaa\"}\n{\"output\":\"bbbbb\"}\n"
                           "{\"output\":\"cccccccc\"}\n{\"output\":\"dd\"}\n";
    job.point.experiment = "finetune_full_benchmark-v1.0.0";
    job.point.inputs = {{"model_name", "tiny"},
                        {"dataset_id", data.string()},
                        {"dataset_text_field", "output"},
                        {"model_max_length", 16},
                        {"batch_size", 2},
                        {"number_gpus", 0},
                        {"gradient_accumulation_steps", 1},
                        {"gradient_checkpointing", true},
                        {"torch_dtype", "float32"},
                        {"max_steps", -1},
                        {"num_train_epochs", 1.0},
                        {"stop_after_seconds", -1.0},
                        {"learning_rate", 1e-3},
                        {"seed", 1}};
    job.log_file = folder_.path() / "log";
  }

  std::unique_ptr<Running> start() { return make_native_trainer(TB_NATIVE_WORKER)->start(job); }
  Told run() { return read_to_end(*start()); }
  static Told read_to_end(Running& running) {
    Told told;
    while (const std::optional<Event> event = running.next_event(kWorkerLimit)) {
      told.add(*event);
    }
    EXPECT_TRUE(running.stream_ended());
    told.exit = running.wait(kWorkerLimit);
    return told;
  }
  void expect_error(std::string_view kind, std::string_view part) {
    const Told told = run();
    ASSERT_EQ(told.errors.size(), 1U);
    EXPECT_EQ(told.errors[0].kind, kind);
    EXPECT_THAT(told.errors[0].message, HasSubstr(part));
    EXPECT_EQ(told.errors[0].phase, "load");
    EXPECT_TRUE(told.ends.empty());
    EXPECT_FALSE(told.exit.ok());
  }

  TemporaryFolder folder_;
  Job job;
};

TEST_F(NativeWorkerTest, TellsItselfItsPhasesEveryStepAndItsEnd) {
  const Told told = run();
  EXPECT_TRUE(told.exit.ok()) << read_file(job.log_file);
  EXPECT_THAT(told.phases, testing::ElementsAre("load", "train"));
  ASSERT_EQ(told.hellos.size(), 1U);
  EXPECT_EQ(told.hellos[0].trainer, "native");
  EXPECT_EQ(told.hellos[0].version, build_info().version);
  EXPECT_EQ(told.hellos[0].device, "cpu");
  EXPECT_NE(told.hellos[0].isa, "");
  EXPECT_EQ(told.note("weights"), "random");
  EXPECT_EQ(told.note("recompute"), "none");
  EXPECT_EQ(told.note("compute_dtype"), "float32");
  EXPECT_NE(told.note("threads"), "0");
  EXPECT_NE(told.note("parameters"), "0");
  ASSERT_EQ(told.steps.size(), 2U);
  ASSERT_EQ(told.ends.size(), 1U);
  EXPECT_EQ(told.ends[0].status, "ok");
  EXPECT_EQ(told.ends[0].steps, 2);
  EXPECT_TRUE(told.errors.empty());
  EXPECT_EQ(read_file(job.log_file), "");
}

/// Lengths 3, 5, 8, 2: real tokens do not depend on how they are batched, padding does.
TEST_F(NativeWorkerTest, CountsRealTokensWhateverThePadding) {
  const auto counts = [this](std::int64_t batch, std::int64_t accumulation) {
    job.point.inputs["batch_size"] = batch;
    job.point.inputs["gradient_accumulation_steps"] = accumulation;
    std::vector<std::int64_t> sums(4);
    for (const StepEvent& step : run().steps) {
      sums[0] += step.samples;
      sums[1] += step.tokens;
      sums[2] += step.tokens_nonpad;
      sums[3] += step.tokens_trained;
    }
    return sums;
  };
  EXPECT_THAT(counts(2, 1), testing::ElementsAre(4, 26, 18, 14));
  EXPECT_THAT(counts(1, 1), testing::ElementsAre(4, 18, 18, 14));
  EXPECT_THAT(counts(1, 4), testing::ElementsAre(4, 18, 18, 14));
  EXPECT_THAT(counts(4, 1), testing::ElementsAre(4, 32, 18, 14));
}

TEST_F(NativeWorkerTest, MakesOneStepOfAccumulationAndOfOneLargeBatchAlike) {
  job.point.inputs["batch_size"] = 1;
  job.point.inputs["gradient_accumulation_steps"] = 4;
  const Told accumulated = run();
  job.point.inputs["batch_size"] = 4;
  job.point.inputs["gradient_accumulation_steps"] = 1;
  const Told whole = run();
  ASSERT_EQ(accumulated.steps.size(), 1U);
  ASSERT_EQ(whole.steps.size(), 1U);
  EXPECT_NEAR(accumulated.steps[0].loss.value(), whole.steps[0].loss.value(), 1e-5);
  EXPECT_NEAR(accumulated.steps[0].grad_norm.value(), whole.steps[0].grad_norm.value(), 1e-4);
}

TEST_F(NativeWorkerTest, BracketsStepsOneAfterTheOther) {
  job.point.inputs["max_steps"] = 6;
  const Told told = run();
  ASSERT_EQ(told.steps.size(), 6U);
  std::int64_t before = 0;
  for (std::size_t i = 0; i < told.steps.size(); ++i) {
    EXPECT_EQ(told.steps[i].n, static_cast<std::int64_t>(i) + 1);
    EXPECT_LT(told.steps[i].t0, told.steps[i].t1);
    EXPECT_GE(told.steps[i].t0, before);
    before = told.steps[i].t1;
    EXPECT_TRUE(std::isfinite(told.steps[i].loss.value()));
  }
  EXPECT_LT(told.steps[5].loss.value(), told.steps[0].loss.value());
}

TEST_F(NativeWorkerTest, GivesTheSameLossesForTheSameSeed) {
  job.point.inputs["max_steps"] = 4;
  const Told first = run();
  const Told second = run();
  job.point.inputs["seed"] = 2;
  const Told other = run();
  ASSERT_EQ(first.steps.size(), 4U);
  ASSERT_EQ(second.steps.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(first.steps[i].loss, second.steps[i].loss);
    EXPECT_EQ(first.steps[i].grad_norm, second.steps[i].grad_norm);
  }
  EXPECT_NE(first.steps[0].loss, other.steps[0].loss);
}

TEST_F(NativeWorkerTest, TellsPeakAndPlannedMemory) {
  const Told told = run();
  ASSERT_FALSE(told.memory.empty());
  std::int64_t planned = 0;
  for (const auto& [part, bytes] : told.memory.back().parts) {
    planned += bytes;
  }
  EXPECT_GT(planned, 0);
  EXPECT_GT(told.memory.back().host_peak_bytes, 0);
}

TEST_F(NativeWorkerTest, StopsAfterTheFirstStepForZeroSeconds) {
  job.point.inputs["num_train_epochs"] = 100.0;
  job.point.inputs["stop_after_seconds"] = 0.0;
  const Told told = run();
  EXPECT_EQ(told.steps.size(), 1U);
  EXPECT_TRUE(told.exit.ok());
}

TEST_F(NativeWorkerTest, EndsAfterTheRunningStepWhenAskedTo) {
  job.point.inputs["max_steps"] = 10000;
  job.point.inputs["batch_size"] = 4;
  job.point.inputs["gradient_accumulation_steps"] = 32;
  const std::unique_ptr<Running> running = start();
  bool stepped = false;
  while (!stepped) {
    const std::optional<Event> event = running->next_event(kWorkerLimit);
    ASSERT_TRUE(event.has_value());
    stepped = std::holds_alternative<StepEvent>(*event);
  }
  running->request_stop();
  const Told told = read_to_end(*running);
  EXPECT_TRUE(told.exit.ok());
  ASSERT_EQ(told.ends.size(), 1U);
  EXPECT_EQ(told.ends[0].steps, static_cast<std::int64_t>(told.steps.size()) + 1);
}

TEST_F(NativeWorkerTest, TakesStepsFromTheJobWhenItPlansThem) {
  job.planned_steps = 3;
  EXPECT_EQ(run().steps.size(), 3U);
}

TEST_F(NativeWorkerTest, RefusesAModelThatIsNone) {
  job.point.inputs["model_name"] = "tinny";
  expect_error("invalid_config", "tinny");
}

TEST_F(NativeWorkerTest, RefusesADatasetWithABadLineByItsNumber) {
  std::ofstream(folder_.path() / "data.jsonl", std::ios::app) << "not json\n";
  expect_error("invalid_config", "data.jsonl:5");
}

TEST_F(NativeWorkerTest, RefusesADatasetThatIsMissing) {
  job.point.inputs["dataset_id"] = (folder_.path() / "none.jsonl").string();
  expect_error("invalid_config", "none.jsonl");
}

TEST_F(NativeWorkerTest, TellsWhatAPointThatDoesNotFitWouldTake) {
  job.memory_bytes = 1000;
  const Told told = run();
  ASSERT_EQ(told.errors.size(), 1U);
  EXPECT_EQ(told.errors[0].kind, "oom_host");
  EXPECT_GT(told.errors[0].needed_bytes, 1000);
  EXPECT_THAT(told.errors[0].message, HasSubstr("may use 1000 B; --force tries anyway"));
}

TEST_F(NativeWorkerTest, LooksAtTheMemoryBeforeItReadsTheDataset) {
  job.memory_bytes = 1000;
  job.point.inputs["dataset_id"] = (folder_.path() / "none.jsonl").string();
  expect_error("oom_host", "needs ");
}

TEST_F(NativeWorkerTest, GoesBeyondItsMemoryWhenItIsForcedTo) {
  job.memory_bytes = 1000;
  job.force = true;
  job.planned_steps = 2;
  EXPECT_EQ(run().steps.size(), 2U);
}

TEST_F(NativeWorkerTest, TellsALossThatIsNotFiniteAsNull) {
  job.point.inputs["learning_rate"] = 1e30;
  job.point.inputs["warmup_ratio"] = 0.0;
  job.point.inputs["max_steps"] = 5;
  const Told told = run();
  ASSERT_EQ(told.steps.size(), 5U);
  EXPECT_TRUE(std::isfinite(told.steps[0].loss.value()));
  EXPECT_TRUE(std::isnan(told.steps[4].loss.value()) ||
              std::isnan(told.steps[4].grad_norm.value()));
}

TEST_F(NativeWorkerTest, NamesAJobThatIsNoJob) {
  Told told;
  const std::unique_ptr<Running> running =
      make_command_trainer({TB_NATIVE_WORKER, "train", "{}"})->start(job);
  told = read_to_end(*running);
  ASSERT_EQ(told.errors.size(), 1U);
  EXPECT_THAT(told.errors[0].message, HasSubstr("reading the job"));
  EXPECT_EQ(told.exit.code, 1);
}

}  // namespace
}  // namespace tunebench::trainer
