// The vector is that of section 3.5 of the project's specification.
#include "tunebench/analyze/pareto.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::analyze {
namespace {

const std::vector<Objective> kRateAndMemory{{"tokens_per_s", true}, {"peak_mem_gib", false}};

using Points = std::vector<std::vector<Figure>>;

TEST(Pareto, VectorOfTheSpecification) {
  const Points points{{{5200}, {31.5}}, {{6100}, {47.0}}, {{9300}, {22.4}}, {{11300}, {34.9}}};
  const std::vector<ParetoPoint> front = pareto(points, kRateAndMemory);
  EXPECT_FALSE(front[0].on_front);
  EXPECT_EQ(front[0].dominated_by, 2U);
  EXPECT_FALSE(front[1].on_front);
  // The third dominates the second as well, and comes first.
  EXPECT_EQ(front[1].dominated_by, 2U);
  EXPECT_TRUE(front[2].on_front);
  EXPECT_TRUE(front[3].on_front);
  EXPECT_FALSE(front[2].near || front[3].near);
  EXPECT_FALSE(front[2].knee || front[3].knee) << "two points have no knee";
}

TEST(Pareto, EqualPointsStayBoth) {
  const Points points{{{1}, {1}}, {{1}, {1}}};
  for (const ParetoPoint& point : pareto(points, kRateAndMemory)) {
    EXPECT_TRUE(point.on_front);
    EXPECT_FALSE(point.near);
  }
}

TEST(Pareto, WithinTheJointIntervalBothStay) {
  // 3-4-5: the joint half width is 5.
  const Points near{{{100, 3}, {10}}, {{105, 4}, {10}}};
  const std::vector<ParetoPoint> both = pareto(near, kRateAndMemory);
  EXPECT_TRUE(both[0].on_front);
  EXPECT_TRUE(both[0].near);
  EXPECT_EQ(both[0].dominated_by, 1U);
  EXPECT_FALSE(both[1].near);
  const Points far{{{100, 3}, {10}}, {{105.1, 4}, {10}}};
  EXPECT_FALSE(pareto(far, kRateAndMemory)[0].on_front);
  // Clearly better on one objective is enough when it is no worse on the other.
  const Points one{{{100, 3}, {10, 0.1}}, {{101, 4}, {9, 0.1}}};
  EXPECT_FALSE(pareto(one, kRateAndMemory)[0].on_front);
}

TEST(Pareto, OneObjectiveLeavesTheBest) {
  const std::vector<Objective> cost{{"cost_per_mtok", false}};
  const std::vector<ParetoPoint> front = pareto(Points{{{3}}, {{1}}, {{2}}}, cost);
  EXPECT_FALSE(front[0].on_front);
  EXPECT_TRUE(front[1].on_front);
  EXPECT_FALSE(front[2].on_front);
}

TEST(Pareto, ThreeObjectivesKeepWhatIsBestInAny) {
  std::vector<Objective> three = kRateAndMemory;
  three.push_back({"cost_per_mtok", false});
  const Points points{{{10}, {5}, {1}}, {{10}, {4}, {2}}, {{9}, {5}, {2}}};
  const std::vector<ParetoPoint> front = pareto(points, three);
  EXPECT_TRUE(front[0].on_front);
  EXPECT_TRUE(front[1].on_front);
  EXPECT_FALSE(front[2].on_front);
}

TEST(Pareto, TheKneeIsNearestToTheIdeal) {
  const Points points{{{1}, {1}}, {{9}, {2}}, {{10}, {10}}, {{0.5}, {1.5}}};
  const std::vector<ParetoPoint> front = pareto(points, kRateAndMemory);
  EXPECT_TRUE(front[1].knee);
  EXPECT_FALSE(front[0].knee || front[2].knee || front[3].knee);
}

TEST(Pareto, NoPointsAreNoFront) {
  EXPECT_TRUE(pareto({}, kRateAndMemory).empty());
}

}  // namespace
}  // namespace tunebench::analyze
