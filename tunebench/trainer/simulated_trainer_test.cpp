#include "tunebench/trainer/simulated_trainer.h"

#include <chrono>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tunebench/base/files.h"

namespace tunebench::trainer {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using testing::HasSubstr;

/// Long enough that only a hang reaches it.
constexpr seconds kLong{60};

Job job(const std::filesystem::path& log, std::int64_t steps) {
  Job job;
  job.point.experiment = "finetune_full_benchmark-v1.0.0";
  job.point.inputs = {{"batch_size", 2},
                      {"gradient_accumulation_steps", 1},
                      {"model_max_length", 100},
                      {"number_gpus", 0}};
  job.log_file = log;
  job.planned_steps = steps;
  return job;
}

class SimulatedChildTest : public testing::Test {
 protected:
  std::unique_ptr<Running> start(const std::string& text, std::int64_t steps = 5) {
    return make_simulated_trainer(parse_simulation(text, "m.json"), TB_NATIVE_WORKER)
        ->start(job(folder.path() / "log", steps));
  }
  static std::vector<StepEvent> steps_of(Running& running) {
    std::vector<StepEvent> steps;
    while (const std::optional<Event> event = running.next_event(kLong)) {
      if (const auto* step = std::get_if<StepEvent>(&*event)) {
        steps.push_back(*step);
      }
    }
    EXPECT_TRUE(running.stream_ended());
    return steps;
  }
  TemporaryFolder folder;
};

TEST_F(SimulatedChildTest, TellsModelledTimesWithoutWaiting) {
  const std::unique_ptr<Running> running =
      start(R"({"time_scale":0,"load_s":1000,"step":{"base_s":100}})");
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<StepEvent> steps = steps_of(*running);
  ASSERT_EQ(steps.size(), 5U);
  EXPECT_EQ(steps[4].t1 - steps[0].t0, 500'000'000'000);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong);
  EXPECT_TRUE(running->wait(kLong).ok());
}

TEST_F(SimulatedChildTest, WaitsAsLongAsTheScaleSays) {
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<Running> running = start(R"({"time_scale":0.1,"step":{"base_s":1}})", 3);
  EXPECT_EQ(steps_of(*running).size(), 3U);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(300));
}

TEST_F(SimulatedChildTest, EndsAsItsModelSays) {
  const auto end_of = [this](const std::string& how) {
    const std::unique_ptr<Running> running =
        start(R"({"time_scale":0,"step":{"base_s":1},"failures":[{"step":2,)" + how + "}]}");
    EXPECT_EQ(steps_of(*running).size(), 1U);
    return running->wait(kLong);
  };
  EXPECT_EQ(end_of(R"("exit":7)").code, 7);
  EXPECT_EQ(end_of(R"("signal":9)").signal, SIGKILL);
  EXPECT_EQ(end_of(R"("signal":11)").signal, SIGSEGV);
  EXPECT_EQ(end_of(R"("log":"CUDA out of memory")").code, 1);
  EXPECT_THAT(read_file(folder.path() / "log"), HasSubstr("CUDA out of memory"));
}

TEST_F(SimulatedChildTest, AHangIsEndedByKilling) {
  const std::unique_ptr<Running> running =
      start(R"({"time_scale":0,"step":{"base_s":1},"failures":[{"step":1,"hang":true}]})");
  while (running->next_event(std::chrono::milliseconds(200)).has_value()) {
  }
  EXPECT_FALSE(running->stream_ended());
  running->kill();
  EXPECT_EQ(running->wait(kLong).signal, SIGKILL);
}

TEST_F(SimulatedChildTest, StopsWhenAsked) {
  const std::unique_ptr<Running> running =
      start(R"({"time_scale":0.01,"step":{"base_s":1}})", 1'000'000);
  while (!std::holds_alternative<StepEvent>(running->next_event(kLong).value())) {
  }
  running->request_stop();
  EXPECT_LT(steps_of(*running).size(), 100'000U);
  EXPECT_TRUE(running->wait(kLong).ok());
}

TEST(SimulatedTrainer, AnotherModelIsAnotherVersion) {
  const auto version = [](const char* text) {
    return make_simulated_trainer(parse_simulation(text, "m.json"), TB_NATIVE_WORKER)->version();
  };
  EXPECT_EQ(version(R"({"step":{"base_s":1}})"), version(R"({ "step": {"base_s": 1.0}})"));
  EXPECT_NE(version(R"({"step":{"base_s":1}})"), version(R"({"step":{"base_s":2}})"));
}

TEST(SimulatedInProcess, MovesTheClockInsteadOfWaiting) {
  test_support::FakeClock clock;
  const nanoseconds begin = clock.now();
  const std::unique_ptr<Trainer> trainer = make_simulated_trainer(
      parse_simulation(R"({"load_s":2,"step":{"base_s":1}})", "m.json"), clock);
  EXPECT_EQ(trainer->name(), "simulated");
  const std::unique_ptr<Running> running = trainer->start(job({}, 4));
  std::int64_t last = 0;
  while (!running->stream_ended()) {
    const std::optional<Event> event = running->next_event(std::chrono::milliseconds(300));
    if (event.has_value() && std::holds_alternative<StepEvent>(*event)) {
      last = std::get<StepEvent>(*event).t1;
      EXPECT_EQ(last, clock.now().count());
    }
  }
  EXPECT_EQ(last, (begin + seconds(6)).count());
  EXPECT_TRUE(running->wait(kLong).ok());
}

TEST(SimulatedInProcess, AHangLastsUntilItIsKilled) {
  test_support::FakeClock clock;
  const std::unique_ptr<Running> running =
      make_simulated_trainer(
          parse_simulation(R"({"step":{"base_s":1},"failures":[{"hang":true}]})", "m.json"), clock)
          ->start(job({}, 4));
  const nanoseconds begin = clock.now();
  while (clock.now() - begin < seconds(100)) {
    running->next_event(seconds(1));
  }
  EXPECT_FALSE(running->stream_ended());
  EXPECT_EQ(running->wait(seconds(10)).signal, SIGKILL);
  EXPECT_TRUE(running->stream_ended());
}

}  // namespace
}  // namespace tunebench::trainer
