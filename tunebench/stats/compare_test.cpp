// The vectors are those of the project's specification, section 3.4. It rounds the p-values of
// Welch's test to 1e-5 and 0.0040; the digits here are from integrating the density of t by
// Simpson's rule. The other values were worked out by hand from the definitions.
#include "tunebench/stats/compare.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::stats {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using Values = std::vector<double>;

const Values kA{5200, 5230, 5190, 5215, 5205};
const Values kSlower{5110, 5125, 5095, 5120, 5105};
const Values kSame{5195, 5225, 5180, 5220, 5210};
const Values kThreeA{5200, 5230, 5190};
const Values kThreeB{5110, 5125, 5095};

TEST(Welch, FiveAgainstFive) {
  const Comparison comparison = compare_rates(kA, kSlower);
  EXPECT_DOUBLE_EQ(comparison.first_mean, 5208);
  EXPECT_DOUBLE_EQ(comparison.second_mean, 5111);
  ASSERT_TRUE(comparison.welch);
  EXPECT_NEAR(comparison.welch->difference, -97, 1e-9);
  EXPECT_NEAR(comparison.ratio - 1, -0.01863, 5e-6);
  EXPECT_NEAR(comparison.welch->t, -11.2006, 5e-5);
  EXPECT_NEAR(comparison.welch->degrees, 7.564, 5e-4);
  EXPECT_NEAR(comparison.welch->p, 5.610e-6, 5e-10);
  EXPECT_NEAR(comparison.welch->interval.low, -117.17, 5e-3);
  EXPECT_NEAR(comparison.welch->interval.high, -76.83, 5e-3);
  EXPECT_NEAR(comparison.relative->low, -0.0225, 5e-5);
  EXPECT_NEAR(comparison.relative->high, -0.0148, 5e-5);
  EXPECT_NEAR(*comparison.mann_whitney_p, 0.0079, 5e-5);
  EXPECT_EQ(comparison.verdict, Verdict::Slower);
  EXPECT_EQ(compare_rates(kSlower, kA).verdict, Verdict::Faster);
}

TEST(Welch, NoDifference) {
  const Comparison comparison = compare_rates(kA, kSame);
  EXPECT_NEAR(comparison.second_mean, 5206, 1e-9);
  EXPECT_NEAR(comparison.ratio - 1, -0.00038, 5e-6);
  EXPECT_NEAR(comparison.welch->t, -0.1865, 5e-5);
  EXPECT_NEAR(comparison.welch->degrees, 7.718, 5e-4);
  EXPECT_NEAR(comparison.welch->p, 0.857, 5e-4);
  EXPECT_NEAR(comparison.welch->interval.low, -26.89, 5e-3);
  EXPECT_NEAR(comparison.welch->interval.high, 22.89, 5e-3);
  EXPECT_DOUBLE_EQ(*comparison.mann_whitney_p, 1.0);
  EXPECT_EQ(comparison.verdict, Verdict::Same);
}

TEST(Welch, ThreeAgainstThreeHasNoSecondOpinion) {
  const Comparison comparison = compare_rates(kThreeA, kThreeB);
  EXPECT_NEAR(comparison.first_mean, 5206.67, 5e-3);
  EXPECT_NEAR(comparison.welch->difference, -96.67, 5e-3);
  EXPECT_NEAR(comparison.ratio - 1, -0.01857, 5e-6);
  EXPECT_NEAR(comparison.welch->t, -6.5255, 5e-5);
  EXPECT_NEAR(comparison.welch->degrees, 3.636, 5e-4);
  EXPECT_NEAR(comparison.welch->p, 0.003946, 5e-7);
  EXPECT_NEAR(comparison.welch->interval.low, -139.47, 5e-3);
  EXPECT_NEAR(comparison.welch->interval.high, -53.86, 5e-3);
  EXPECT_FALSE(comparison.mann_whitney_p);
  EXPECT_NEAR(mann_whitney_p(kThreeA, kThreeB), 0.10, 1e-12);
  EXPECT_EQ(comparison.verdict, Verdict::Slower);
}

TEST(Welch, ValuesThatDoNotVary) {
  const Values five{5, 5};
  const Values six{6, 6};
  const std::optional<Welch> differs = welch(five, six);
  ASSERT_TRUE(differs);
  EXPECT_EQ(differs->t, std::numeric_limits<double>::infinity());
  EXPECT_EQ(differs->p, 0);
  EXPECT_EQ(differs->interval.low, 1);
  const std::optional<Welch> equal = welch(five, five);
  EXPECT_EQ(equal->t, 0);
  EXPECT_EQ(equal->p, 1);
  EXPECT_EQ(compare_rates(five, six).verdict, Verdict::Faster);
  EXPECT_EQ(compare_rates(five, five).verdict, Verdict::Same);
}

TEST(Verdict, OneValueIsTooFew) {
  const Values one{5200};
  const Comparison comparison = compare_rates(one, kA);
  EXPECT_EQ(comparison.verdict, Verdict::TooFew);
  EXPECT_EQ(verdict_name(comparison.verdict), "too few");
  EXPECT_FALSE(comparison.welch);
  EXPECT_FALSE(comparison.relative);
}

TEST(Verdict, ASureButSmallDifferenceDoesNotMatter) {
  const Values first{1000.0, 1000.1, 999.9};
  const Values second{1005.0, 1005.1, 1004.9};
  const Comparison comparison = compare_rates(first, second);
  EXPECT_GT(comparison.welch->interval.low, 0);
  EXPECT_EQ(comparison.verdict, Verdict::Same) << "0.5 % is below the limit of 1 %";
  EXPECT_EQ(compare_rates(first, second, 0.004).verdict, Verdict::Faster);
}

TEST(MannWhitney, SmallestPossibleP) {
  EXPECT_NEAR(mann_whitney_p(Values{1, 2, 3}, Values{4, 5, 6}), 0.1, 1e-12);
  EXPECT_NEAR(mann_whitney_p(Values{1, 2, 3, 4}, Values{5, 6, 7, 8}), 2.0 / 70, 1e-12);
  EXPECT_NEAR(mann_whitney_p(Values{6, 7, 8, 9, 10}, Values{1, 2, 3, 4, 5}), 2.0 / 252, 1e-12);
}

TEST(MannWhitney, TiesShareTheirRank) {
  // Ranks 1.5 1.5 3.5 | 3.5 5 6: of 20 ways to deal them, sums as far out as 6.5: both ends.
  EXPECT_NEAR(mann_whitney_p(Values{1, 1, 2}, Values{2, 3, 4}), 0.2, 1e-12);
  EXPECT_DOUBLE_EQ(mann_whitney_p(Values{7, 7}, Values{7, 7, 7}), 1.0);
}

TEST(MannWhitney, ManyValuesByTheNormalApproximation) {
  Values low;
  Values high;
  for (int i = 0; i < 25; ++i) {
    low.push_back(i);
    high.push_back(i + 5.5);
  }
  // U = 190 of 625: z = (122.5 - 0.5) / sqrt(25 * 25 * 51 / 12) = 2.3672.
  EXPECT_NEAR(mann_whitney_p(low, high), 0.0179, 5e-5);
  EXPECT_DOUBLE_EQ(mann_whitney_p(Values(30, 1.0), Values(30, 1.0)), 1.0);
}

TEST(Holm, CorrectsStepByStepAndKeepsTheOrder) {
  EXPECT_THAT(holm(Values{0.01, 0.04, 0.03, 0.005}),
              ElementsAre(DoubleNear(0.03, 1e-12), DoubleNear(0.06, 1e-12), DoubleNear(0.06, 1e-12),
                          DoubleNear(0.02, 1e-12)));
  EXPECT_THAT(holm(Values{0.9, 0.6}), ElementsAre(1.0, 1.0)) << "never above 1";
  EXPECT_TRUE(holm(Values{}).empty());
}

TEST(GeometricMean, OfRatios) {
  EXPECT_NEAR(geometric_mean(Values{0.5, 2.0}), 1.0, 1e-12);
  EXPECT_NEAR(geometric_mean(Values{1, 2, 4}), 2.0, 1e-12);
  EXPECT_THROW(geometric_mean(Values{1, 0}), Error);
  EXPECT_THROW(geometric_mean(Values{}), Error);
}

}  // namespace
}  // namespace tunebench::stats
