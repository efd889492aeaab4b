#include "tunebench/measure/auto_stop.h"

#include <gtest/gtest.h>

namespace tunebench::measure {
namespace {

experiment::Point point(bool auto_stop = true) {
  experiment::Point point;
  point.inputs["auto_stop_method"] =
      auto_stop ? Json("WARMUP_60S_STABLE_120S_OR_10_STEPS") : Json();
  point.inputs["number_gpus"] = 0;
  return point;
}

/// Where the rule stops, for steps of `first_s` and then `other_s`.
struct Vector {
  double first_s;
  double other_s;
  std::size_t stops_after;
  std::size_t warmup_steps;
  double warmup_s;
  double timed_s;
};
class AutoStopVector : public testing::TestWithParam<Vector> {};

trainer::StepEvent step(std::int64_t n, std::int64_t& now, double seconds) {
  trainer::StepEvent event{.n = n, .t0 = now, .samples = 1, .tokens = 10, .tokens_nonpad = 10};
  now += static_cast<std::int64_t>(seconds * 1e9);
  event.t1 = now;
  return event;
}

TEST_P(AutoStopVector, HoldsToTheStep) {
  const Vector& vector = GetParam();
  Window window(protocol_for(point()), bounds_own_length(point()));
  std::int64_t now = 1'000;
  std::size_t steps = 0;
  while (!window.complete() && steps < 1000) {
    ++steps;
    window.add(
        step(static_cast<std::int64_t>(steps), now, steps == 1 ? vector.first_s : vector.other_s));
  }
  EXPECT_EQ(steps, vector.stops_after);
  const Window::Result result = window.result();
  EXPECT_EQ(result.warmup, Warmup::AutoStop);
  EXPECT_EQ(result.warmup_steps.size(), vector.warmup_steps);
  StepCounts warmup;
  for (const StepCounts& one : result.warmup_steps) {
    warmup += one;
  }
  EXPECT_DOUBLE_EQ(warmup.seconds(), vector.warmup_s);
  EXPECT_DOUBLE_EQ(window.timed_s(), vector.timed_s);
  EXPECT_DOUBLE_EQ(static_cast<double>(result.end_ns - result.begin_ns) / 1e9, vector.timed_s);
}

// Vectors of the rule function of the reference system, run there.
INSTANTIATE_TEST_SUITE_P(
    Reference, AutoStopVector,
    testing::Values(Vector{0.5, 0.5, 361, 121, 60.5, 120}, Vector{1, 1, 181, 61, 61, 120},
                    Vector{5, 5, 37, 13, 65, 120}, Vector{7, 7, 27, 9, 63, 126},
                    Vector{10, 10, 19, 7, 70, 120}, Vector{30, 30, 13, 3, 90, 300},
                    Vector{60, 60, 12, 2, 120, 600}, Vector{61, 61, 11, 1, 61, 610},
                    Vector{100, 100, 11, 1, 100, 1000}, Vector{70, 1, 121, 1, 70, 120}));

TEST(AutoStop, LaterStepsAreNoPartOfTheWindow) {
  Window window(protocol_for(point()), bounds_own_length(point()));
  std::int64_t now = 0;
  for (std::int64_t n = 1; n <= 200; ++n) {
    window.add(step(n, now, 1));
  }
  EXPECT_EQ(window.result().timed_steps.size(), 120U);
}

TEST(AutoStop, LeavesWarmUpOutOfEveryRate) {
  Window window(protocol_for(point()), bounds_own_length(point()));
  std::int64_t now = 0;
  for (std::int64_t n = 1; n <= 121; ++n) {
    window.add(step(n, now, n == 1 ? 70 : 1));
  }
  record::Record record;
  record.inputs = point().inputs;
  set_auto_stop_fields(record, window.result());
  EXPECT_EQ(record.get("auto_stop").as_string(), "satisfied");
  EXPECT_DOUBLE_EQ(*record.number("train_runtime"), 120);
  EXPECT_DOUBLE_EQ(*record.number("train_samples_per_second"), 1);
  EXPECT_DOUBLE_EQ(*record.number("train_steps_per_second"), 1);
  EXPECT_DOUBLE_EQ(*record.number("train_tokens_per_second"), 10);
  EXPECT_DOUBLE_EQ(*record.number("dataset_tokens_per_second"), 10);
}

TEST(AutoStop, SaysWhenTrainingEndedFirst) {
  Window window(protocol_for(point()), bounds_own_length(point()));
  std::int64_t now = 0;
  for (std::int64_t n = 1; n <= 100; ++n) {
    window.add(step(n, now, 1));
  }
  EXPECT_FALSE(window.complete());
  EXPECT_EQ(window.result().warmup, Warmup::Capped) << "the 61 steps of warm-up are still left out";
  EXPECT_EQ(window.result().timed_steps.size(), 39U);
  record::Record record;
  record.inputs = point().inputs;
  set_auto_stop_fields(record, window.result());
  EXPECT_EQ(record.get("auto_stop").as_string(), "training ended first");
  EXPECT_TRUE(record.get("train_runtime").is_null());
}

TEST(AutoStop, OtherPointsKeepTheirRules) {
  EXPECT_FALSE(protocol_for(point(false)).fixed_warmup_s);
  EXPECT_EQ(protocol_for(point(false)).min_timed_steps, 20);
  record::Record record;
  record.inputs = point(false).inputs;
  set_auto_stop_fields(record, {});
  EXPECT_TRUE(record.measured.empty());
}

}  // namespace
}  // namespace tunebench::measure
