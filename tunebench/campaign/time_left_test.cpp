#include "tunebench/campaign/time_left.h"

#include <gtest/gtest.h>

namespace tunebench::campaign {
namespace {

using std::chrono::seconds;

PlannedPoint point(double flops) {
  PlannedPoint planned;
  planned.flops_per_step = flops;
  return planned;
}

TEST(TimeLeft, KnowsNothingBeforeTheFirstMeasurementButTheRunningOnesOwnWord) {
  const PlannedPoint a = point(1e9);
  const PlannedPoint b = point(2e9);
  const TimeLeft left;
  EXPECT_EQ(left.seconds(5, a, {&a, &b}), 0);
  EXPECT_EQ(left.seconds(5, b, {&b}), 5);
}

TEST(TimeLeft, GrowsWithTheArithmeticAfterOneMeasurement) {
  const PlannedPoint a = point(1e9);
  const PlannedPoint b = point(2e9);
  TimeLeft left;
  left.add(a, seconds(10));
  EXPECT_DOUBLE_EQ(left.seconds(0, b, {&b}), 20);
  EXPECT_DOUBLE_EQ(left.seconds(15, b, {&b, &a}), 25);
}

TEST(TimeLeft, SplitsOffThePartThatDoesNotGrow) {
  const PlannedPoint a = point(1e9);
  const PlannedPoint b = point(2e9);
  const PlannedPoint c = point(4e9);
  TimeLeft left;
  left.add(a, seconds(10));
  left.add(b, seconds(15));
  EXPECT_DOUBLE_EQ(left.seconds(0, c, {&c}), 25);
}

TEST(TimeLeft, CountsRepeatsOfTheRunningPoint) {
  const PlannedPoint a = point(1e9);
  TimeLeft left;
  left.add(a, seconds(10));
  EXPECT_DOUBLE_EQ(left.seconds(4, a, {&a, &a, &a}), 24);
}

}  // namespace
}  // namespace tunebench::campaign
