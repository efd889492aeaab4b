#include "tunebench/search/internal/information.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/random.h"

namespace tunebench::search {
namespace {

using testing::ElementsAre;

TEST(ClusterLabels, CutWhereTheGapsAre) {
  const std::vector<double> values = {10, 1, 11, 2, 30, 1.5};
  EXPECT_THAT(cluster_labels(values, 3), ElementsAre(1, 0, 1, 0, 2, 0));
  EXPECT_THAT(cluster_labels(values, 1), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THROW(cluster_labels(values, 7), Error);
}

double squares_within(const std::vector<double>& values, const std::vector<std::size_t>& labels,
                      std::size_t clusters) {
  double total = 0;
  for (std::size_t group = 0; group < clusters; ++group) {
    double sum = 0;
    double squares = 0;
    double count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (labels[i] == group) {
        sum += values[i];
        squares += values[i] * values[i];
        ++count;
      }
    }
    total += count > 0 ? squares - sum * sum / count : 0;
  }
  return total;
}

TEST(ClusterLabels, AreTheBestOfAllCuts) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::vector<double> values(10);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = normal(seed, 0, i);
    }
    std::ranges::sort(values);
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t first = 1; first < 9; ++first) {
      for (std::size_t second = first + 1; second < 10; ++second) {
        std::vector<std::size_t> labels(10);
        for (std::size_t i = 0; i < 10; ++i) {
          labels[i] = (i >= first ? 1U : 0U) + (i >= second ? 1U : 0U);
        }
        best = std::min(best, squares_within(values, labels, 3));
      }
    }
    EXPECT_NEAR(squares_within(values, cluster_labels(values, 3), 3), best, 1e-9);
  }
}

TEST(Silhouette, ByHand) {
  // 0 and 2 lie 2 apart, and 10 and 8 from the other group: 8 / 10 and 6 / 8; 10 is alone.
  const std::vector<double> values = {0, 10, 2};
  const std::vector<std::size_t> labels = {0, 1, 0};
  EXPECT_NEAR(silhouette(values, labels).value(), (0.8 + 0.75) / 3, 1e-12);
  const std::vector<std::size_t> same = {0, 0, 0};
  EXPECT_EQ(silhouette(values, same), std::nullopt);
}

TEST(BestClusters, FindTheirNumber) {
  std::vector<double> values;
  for (const double centre : {0.0, 100.0, 200.0, 300.0}) {
    for (const double off : {0.0, 1.0, 2.0}) {
      values.push_back(centre + off);
    }
  }
  EXPECT_THAT(best_clusters(values).value(), ElementsAre(0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3));
  EXPECT_EQ(best_clusters(std::vector<double>{1, 2, 3, 4}), std::nullopt);
  EXPECT_EQ(best_clusters(std::vector<double>(20, 7.0)), std::nullopt);
}

TEST(MutualInformation, AtItsLimitsAndBetween) {
  const std::vector<std::size_t> halves = {0, 0, 1, 1};
  const std::vector<std::size_t> other = {0, 1, 0, 1};
  EXPECT_NEAR(entropy(halves), std::log(2), 1e-12);
  EXPECT_NEAR(mutual_information(halves, halves), std::log(2), 1e-12);
  EXPECT_NEAR(mutual_information(halves, other), 0, 1e-12);
  // p(0,0) = 1/2, p(0,1) = p(1,1) = 1/4: log 2 (first) + H(1/2) - H(1/2, 1/4, 1/4), with shares
  // 3/4 and 1/4 of the first.
  const std::vector<std::size_t> three = {0, 0, 0, 1};
  const std::vector<std::size_t> two = {0, 0, 1, 1};
  const double expected = (-0.75 * std::log(0.75) - 0.25 * std::log(0.25)) + std::log(2) -
                          (-0.5 * std::log(0.5) - 2 * 0.25 * std::log(0.25));
  EXPECT_NEAR(mutual_information(three, two), expected, 1e-12);
}

}  // namespace
}  // namespace tunebench::search
