#include "tunebench/stats/summary.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::stats {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pointwise;

/// Certified values of the NIST Statistical Reference Datasets, univariate summary statistics.
/// Source: https://www.itl.nist.gov/div898/strd/univ/homepage.html
struct Certified {
  std::vector<double> values;
  double mean = 0;
  double sd = 0;
  double mean_tolerance = 0;  ///< what double can hold of the data, relative
  double sd_tolerance = 0;
};

/// The first value, then 500 times (low, high), as the NumAcc sets are made.
std::vector<double> num_acc(double first, double low, double high) {
  std::vector<double> values{first};
  for (int i = 0; i < 500; ++i) {
    values.push_back(low);
    values.push_back(high);
  }
  return values;
}

void expect_certified(const Certified& set) {
  EXPECT_NEAR(mean(set.values), set.mean, set.mean_tolerance * std::abs(set.mean));
  EXPECT_NEAR(sample_sd(set.values), set.sd, set.sd_tolerance * set.sd);
}

TEST(SummaryTest, MatchesNistNumAcc1) {
  expect_certified({{10000001, 10000003, 10000002}, 10000002, 1, 1e-15, 1e-14});
}

TEST(SummaryTest, MatchesNistNumAcc2) {
  expect_certified({num_acc(1.2, 1.1, 1.3), 1.2, 0.1, 1e-15, 1e-13});
}

TEST(SummaryTest, MatchesNistNumAcc3) {
  // 1000000.1 in double is off by 2e-11, which is 2e-10 of the deviation.
  expect_certified({num_acc(1000000.2, 1000000.1, 1000000.3), 1000000.2, 0.1, 1e-15, 1e-9});
}

TEST(SummaryTest, MatchesNistNumAcc4) {
  expect_certified({num_acc(10000000.2, 10000000.1, 10000000.3), 10000000.2, 0.1, 1e-15, 1e-7});
}

TEST(SummaryTest, MatchesNistMichelso) {
  // Michelson's 100 measurements of the speed of light, last digits of 299.xxx.
  const std::vector<int> digits{
      850,  740, 900, 1070, 930, 850, 950, 980, 980, 880, 1000, 980, 930, 650, 760, 810, 1000,
      1000, 960, 960, 960,  940, 960, 940, 880, 800, 850, 880,  900, 840, 830, 790, 810, 880,
      880,  830, 800, 790,  760, 800, 880, 880, 880, 860, 720,  720, 620, 860, 970, 950, 880,
      910,  850, 870, 840,  840, 850, 840, 840, 840, 890, 810,  810, 820, 800, 770, 760, 740,
      750,  760, 910, 920,  890, 860, 880, 720, 840, 850, 850,  780, 890, 840, 780, 810, 760,
      810,  790, 810, 820,  850, 870, 870, 810, 740, 810, 940,  950, 800, 810, 870};
  ASSERT_EQ(digits.size(), 100U);
  std::vector<double> values;
  for (const int digit : digits) {
    values.push_back(299.0 + digit / 1000.0);
  }
  expect_certified({values, 299.852400000000, 0.0790105478190518, 1e-14, 1e-10});
}

TEST(SummaryTest, MedianIsTheMiddleOrTheMeanOfTheTwoMiddleValues) {
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median(std::vector<double>{7}), 7);
  EXPECT_EQ(median(std::vector<double>{1e308, 1.2e308}), 1.1e308);
}

TEST(SummaryTest, RefusesToSummarizeWhatIsNotThere) {
  EXPECT_THROW(median({}), Error);
  EXPECT_THROW(mean({}), Error);
  EXPECT_THROW(sample_sd(std::vector<double>{1}), Error);
  EXPECT_EQ(summarize({}), std::nullopt);
}

TEST(SummaryTest, RefusesValuesThatAreNotFinite) {
  EXPECT_THROW(summarize(std::vector<double>{1, std::nan("")}), Error);
  EXPECT_THROW(summarize(std::vector<double>{std::numeric_limits<double>::infinity()}), Error);
}

TEST(SummaryTest, MatchesTheTableOfStudentsT) {
  // Source: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, column 0.975.
  const std::vector<std::pair<double, double>> table{
      {1, 12.706}, {2, 4.303},  {3, 3.182},  {4, 2.776},  {5, 2.571},
      {9, 2.262},  {10, 2.228}, {30, 2.042}, {60, 2.000}, {100, 1.984}};
  for (const auto& [degrees, expected] : table) {
    EXPECT_NEAR(student_t_quantile(0.975, degrees), expected, 5e-4) << degrees;
  }
}

TEST(SummaryTest, StudentsTWithOneDegreeIsTheCauchyDistribution) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), std::tan(3.141592653589793 * 0.475), 1e-9);
}

TEST(SummaryTest, IntervalOfThreeRepeatsUsesTwoDegreesOfFreedom) {
  const std::vector<double> values{5200, 5230, 5190};
  // mean 5206.667, sd 20.817, 4.302653 * 20.817 / sqrt(3) = 51.712
  const std::optional<Interval> interval = mean_interval(values);
  ASSERT_TRUE(interval);
  EXPECT_NEAR(interval->low, 5154.955, 1e-3);
  EXPECT_NEAR(interval->high, 5258.378, 1e-3);
}

TEST(SummaryTest, OneValueHasNoIntervalAndNoDeviation) {
  const std::optional<Summary> summary = summarize(std::vector<double>{42});
  ASSERT_TRUE(summary);
  EXPECT_EQ(summary->count, 1U);
  EXPECT_EQ(summary->median, 42);
  EXPECT_EQ(summary->sd, std::nullopt);
  EXPECT_EQ(summary->cv, std::nullopt);
  EXPECT_FALSE(summary->interval);
  EXPECT_THAT(summary->outliers, IsEmpty());
}

TEST(SummaryTest, CoefficientOfVariationIsRelativeToTheMean) {
  const std::optional<Summary> summary = summarize(std::vector<double>{-9, -11});
  ASSERT_TRUE(summary);
  EXPECT_NEAR(summary->cv.value(), std::sqrt(2.0) / 10.0, 1e-15);
  EXPECT_EQ(summary->min, -11);
  EXPECT_EQ(summary->max, -9);
}

TEST(SummaryTest, MeanOfZeroHasNoCoefficientOfVariation) {
  EXPECT_EQ(summarize(std::vector<double>{-1, 1})->cv, std::nullopt);
}

TEST(SummaryTest, ModifiedScoresCountMedianDistances) {
  // median 3, distances 2 1 0 1 97, their median 1
  EXPECT_THAT(modified_z_scores(std::vector<double>{1, 2, 3, 4, 100}),
              Pointwise(DoubleNear(0), {-2, -1, 0, 1, 97}));
}

TEST(SummaryTest, MarksASlowRepeatAmongSteadyOnes) {
  EXPECT_THAT(outliers(std::vector<double>{100, 101, 99, 150, 100.5}), ElementsAre(3));
}

TEST(SummaryTest, MarksByScoreJustBeyondTheBoundOnly) {
  // Three values: median 0, median distance 1, so the score is the value itself.
  EXPECT_THAT(outliers(std::vector<double>{-1, 0, 14.826}), IsEmpty());
  EXPECT_THAT(outliers(std::vector<double>{-1, 0, 14.827}), ElementsAre(2));
}

TEST(SummaryTest, MarksByQuartilesJustBeyondTheBoundOnly) {
  // Nine values: quartiles 3 and 7, so the bound is 7 + 3 x 4; the score of 20 is 15 / 2 only.
  EXPECT_THAT(outliers(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 19}), IsEmpty());
  EXPECT_THAT(outliers(std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 20}), ElementsAre(8));
}

TEST(SummaryTest, EqualValuesHaveNoOutliers) {
  EXPECT_THAT(outliers(std::vector<double>{5, 5, 5, 5}), IsEmpty());
  EXPECT_THAT(outliers(std::vector<double>{5, 5, 5, 5.0001}), IsEmpty());
  EXPECT_THAT(outliers({}), IsEmpty());
}

TEST(SummaryTest, QuantilesAreLinearBetweenNeighbours) {
  const std::vector<double> values{4, 1, 3, 2};
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile(values, 0.25), 1.75);
  EXPECT_EQ(quantile(values, 1), 4);
}

}  // namespace
}  // namespace tunebench::stats
