#include "tunebench/stats/drift.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/random.h"

namespace tunebench::stats {
namespace {

/// Rates of `points` points over `rounds` rounds with 1 % of noise.
std::vector<Series> rates(std::uint64_t seed, int points, int rounds, double per_round) {
  std::vector<Series> all;
  for (int point = 0; point < points; ++point) {
    Series series;
    for (int round = 1; round <= rounds; ++round) {
      const double noise =
          normal(seed, static_cast<std::uint64_t>(point), static_cast<std::uint64_t>(round));
      series.rounds.push_back(round);
      series.values.push_back(1000.0 * (point + 1) *
                              std::exp(0.01 * noise + round * std::log1p(per_round)));
    }
    all.push_back(std::move(series));
  }
  return all;
}

TEST(Drift, FindsATrendThatAllPointsShare) {
  const std::optional<Drift> found = drift(rates(1, 8, 5, -0.02));
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->per_round, -0.02, 0.003);
  EXPECT_LT(found->p, 1e-6);
  EXPECT_DOUBLE_EQ(found->degrees, 8 * 5 - 8 - 1);
}

TEST(Drift, FalseAlarmsAreAsRareAsTheirP) {
  int alarms = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    alarms += drift(rates(seed, 4, 3, 0.0))->p < 0.05 ? 1 : 0;
  }
  EXPECT_NEAR(alarms, 100, 30) << "5 % of 2,000; three standard deviations are 29";
}

TEST(Drift, DifferencesBetweenPointsAreNoDrift) {
  const std::vector<Series> points{{{10, 10.1, 9.9}, {1, 2, 3}}, {{900, 899, 901}, {1, 2, 3}}};
  EXPECT_GT(drift(points)->p, 0.2);
}

TEST(Drift, ValuesOnALineAreSure) {
  const std::vector<Series> points{{{8, 4, 2, 1}, {1, 2, 3, 4}}};
  const std::optional<Drift> found = drift(points);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->per_round, -0.5, 1e-12);
  EXPECT_LT(found->p, 1e-6);
}

TEST(Drift, SaysNothingWithoutRepeats) {
  EXPECT_FALSE(drift(std::vector<Series>{{{5}, {1}}, {{6}, {1}}}));
  EXPECT_FALSE(drift(std::vector<Series>{{{5, 6}, {1, 2}}})) << "a line through two points";
  EXPECT_FALSE(drift(std::vector<Series>{{{5, 6, 7, 8}, {2, 2, 2, 2}}})) << "one round only";
  EXPECT_FALSE(drift({}));
}

TEST(Drift, RefusesWhatHasNoLogarithm) {
  EXPECT_THROW(drift(std::vector<Series>{{{0, 1, 2}, {1, 2, 3}}}), Error);
  EXPECT_THROW(drift(std::vector<Series>{{{1, 1}, {1}}}), Error);
}

}  // namespace
}  // namespace tunebench::stats
