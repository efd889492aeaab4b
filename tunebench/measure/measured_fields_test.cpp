#include "tunebench/measure/measured_fields.h"

#include <gtest/gtest.h>

namespace tunebench::measure {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

Window::Result four_timed_steps() {
  Window::Result window;
  window.warmup = Warmup::Short;
  window.warmup_steps = {{.duration_ns = 5 * kSecond, .samples = 9, .tokens = 9}};
  for (const std::int64_t seconds : {2, 1, 4, 3}) {
    window.timed_steps.push_back({.duration_ns = seconds * kSecond,
                                  .samples = 2,
                                  .tokens = 20,
                                  .tokens_nonpad = 15,
                                  .tokens_trained = 13});
  }
  return window;
}

TEST(MeasuredFieldsTest, GivesARateThatTimesItsTimeIsTheCount) {
  record::Record record;
  set_window_fields(record, four_timed_steps());
  EXPECT_DOUBLE_EQ(record.number("tokens_per_s").value(), 6.0);
  EXPECT_DOUBLE_EQ(record.number("tokens_per_s_computed").value(), 8.0);
  EXPECT_DOUBLE_EQ(record.number("timed_s").value(), 10.0);
  EXPECT_EQ(record.get("steps").as_int(), 4);
  EXPECT_EQ(record.get("samples").as_int(), 8);
  EXPECT_EQ(record.get("tokens").as_int(), 80);
  EXPECT_EQ(record.get("tokens_nonpad").as_int(), 60);
  EXPECT_EQ(record.get("tokens_trained").as_int(), 52);
  EXPECT_EQ(record.get("warmup").as_string(), "short");
  EXPECT_EQ(record.get("warmup_steps").as_int(), 1);
  EXPECT_DOUBLE_EQ(record.number("warmup_s").value(), 5.0);
}

TEST(MeasuredFieldsTest, GivesMedianMeanAndExtremesOfTheStepTime) {
  record::Record record;
  set_window_fields(record, four_timed_steps());
  EXPECT_DOUBLE_EQ(record.number("step_s").value(), 2.5);
  EXPECT_DOUBLE_EQ(record.number("step_s_mean").value(), 2.5);
  EXPECT_DOUBLE_EQ(record.number("step_s_min").value(), 1.0);
  EXPECT_DOUBLE_EQ(record.number("step_s_max").value(), 4.0);
  Window::Result odd = four_timed_steps();
  odd.timed_steps.pop_back();
  set_window_fields(record, odd);
  EXPECT_DOUBLE_EQ(record.number("step_s").value(), 2.0);
}

TEST(MeasuredFieldsTest, SetsNothingOfAWindowWithoutSteps) {
  record::Record record;
  set_window_fields(record, {});
  EXPECT_TRUE(record.measured.empty());
}

Tally two_steps() {
  Tally tally{experiment::Point{}};
  for (std::int64_t n = 1; n <= 2; ++n) {
    trainer::StepEvent step;
    step.n = n;
    step.t0 = 10 * n * kSecond;
    step.t1 = step.t0 + 5 * kSecond;
    step.samples = 4;
    step.tokens = 60;
    step.tokens_nonpad = 45;
    step.tokens_trained = 41;
    step.loss = 3.0 - static_cast<double>(n);
    tally.add(step);
  }
  return tally;
}

TEST(MeasuredFieldsTest, GivesRatesOfTheWholeRunPerDevice) {
  record::Record record;
  record.inputs = {{"number_gpus", 2}};
  set_run_fields(record, two_steps());
  EXPECT_EQ(record.get("steps_total").as_int(), 2);
  EXPECT_EQ(record.get("tokens_nonpad_total").as_int(), 90);
  EXPECT_DOUBLE_EQ(record.number("train_runtime").value(), 15.0);
  EXPECT_DOUBLE_EQ(record.number("train_tokens_per_second").value(), 8.0);
  EXPECT_DOUBLE_EQ(record.number("train_tokens_per_gpu_per_second").value(), 4.0);
  EXPECT_DOUBLE_EQ(record.number("dataset_tokens_per_second").value(), 6.0);
  EXPECT_DOUBLE_EQ(record.number("dataset_tokens_per_second_per_gpu").value(), 3.0);
  EXPECT_DOUBLE_EQ(record.number("loss_first").value(), 2.0);
  EXPECT_DOUBLE_EQ(record.number("loss_last").value(), 1.0);
  EXPECT_TRUE(record.get("grad_norm_first").is_null());
}

TEST(MeasuredFieldsTest, GivesNoRatesOfARunThatFailed) {
  record::Record record;
  record.status = record::Outcome::Crashed;
  set_run_fields(record, two_steps());
  EXPECT_EQ(record.get("steps_total").as_int(), 2);
  EXPECT_TRUE(record.get("train_tokens_per_second").is_null());
}

Observed observed() {
  Observed seen;
  seen.started_ns = 7 * kSecond;
  seen.ended_ns = 27 * kSecond;
  seen.phases = {{.name = "load", .t = 8 * kSecond}, {.name = "train", .t = 9 * kSecond + 1}};
  seen.exit.user_s = 29;
  seen.exit.system_s = 1;
  return seen;
}

TEST(MeasuredFieldsTest, SplitsTheTimeOfTheProcess) {
  record::Record record;
  set_process_fields(record, observed(), two_steps());
  EXPECT_DOUBLE_EQ(record.number("wall_s").value(), 20.0);
  EXPECT_DOUBLE_EQ(record.number("setup_s").value(), 3.0);
  EXPECT_DOUBLE_EQ(record.number("overhead_s").value(), 10.0);
  EXPECT_DOUBLE_EQ(record.number("load_s").value(), 1.000000001);
}

TEST(MeasuredFieldsTest, TakesFactsFromHelloAndIgnoresWhatIsNoField) {
  Observed seen = observed();
  seen.hello = trainer::HelloEvent{.trainer = "x",
                                   .version = "7",
                                   .device = "cpu",
                                   .isa = "avx2",
                                   .notes = {{"threads", "2"},
                                             {"recompute", "norm"},
                                             {"flops_per_token", "1e9"},
                                             {"parameters", "many"},
                                             {"tokens_per_s", "1000000"},
                                             {"colour", "blue"}}};
  record::Record record;
  set_process_fields(record, seen, two_steps());
  EXPECT_EQ(record.trainer_version, "7");
  EXPECT_EQ(record.get("device").as_string(), "cpu");
  EXPECT_EQ(record.get("threads").as_int(), 2);
  EXPECT_EQ(record.get("recompute").as_string(), "norm");
  EXPECT_TRUE(record.get("parameters").is_null());
  EXPECT_TRUE(record.get("tokens_per_s").is_null());
  set_window_fields(record, four_timed_steps());
  EXPECT_DOUBLE_EQ(record.number("gflops").value(), 8.0);
}

TEST(MeasuredFieldsTest, AddsUpThePartsOfThePlannedMemory) {
  Observed seen = observed();
  seen.memory = trainer::MemoryEvent{.parts = {{"weights", 1},
                                               {"gradients", 2},
                                               {"optimizer", 4},
                                               {"activations", 8},
                                               {"scratch", 16},
                                               {"other", 99}}};
  record::Record record;
  set_process_fields(record, seen, two_steps());
  EXPECT_EQ(record.get("arena_bytes").as_int(), 31);
  EXPECT_EQ(record.get("scratch_bytes").as_int(), 16);
  EXPECT_TRUE(record.get("device_peak_bytes").is_null());
}

TEST(HostPeakTest, IsTheLargerOfWhatIsToldAndWhatTheSystemCounted) {
  Observed seen;
  seen.own_peak_resident_bytes = 50;
  seen.exit.peak_resident_bytes = 300;
  EXPECT_EQ(host_peak_bytes(seen), 300);
  seen.memory = trainer::MemoryEvent{.host_peak_bytes = 400};
  EXPECT_EQ(host_peak_bytes(seen), 400);
  seen.memory->host_peak_bytes = 200;
  EXPECT_EQ(host_peak_bytes(seen), 300);
}

TEST(HostPeakTest, CountsTheWholeTree) {
  Observed seen;
  seen.own_peak_resident_bytes = 50;
  seen.exit.peak_resident_bytes = 300;
  seen.tree_peak_bytes = 500;
  EXPECT_EQ(host_peak_bytes(seen), 500);
}

TEST(MeasuredFieldsTest, ThePeakIsThatOfTheDeviceWhereThereIsOne) {
  record::Record record;
  Observed seen = observed();
  seen.memory = trainer::MemoryEvent{.host_peak_bytes = 70};
  set_process_fields(record, seen, two_steps());
  EXPECT_EQ(record.get("peak_mem_bytes").as_int(), 70);
  seen.memory->device_peak_bytes = 30;
  set_process_fields(record, seen, two_steps());
  EXPECT_EQ(record.get("peak_mem_bytes").as_int(), 30);
}

TEST(HostPeakTest, DoesNotTakeTheControllersPeakForTheChilds) {
  Observed seen;
  seen.own_peak_resident_bytes = 300;
  seen.exit.peak_resident_bytes = 300;
  seen.memory = trainer::MemoryEvent{.host_peak_bytes = 20};
  EXPECT_EQ(host_peak_bytes(seen), 20);
}

}  // namespace
}  // namespace tunebench::measure
