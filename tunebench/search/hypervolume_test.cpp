#include "tunebench/search/hypervolume.h"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/random.h"
#include "tunebench/search/internal/outcomes.h"

namespace tunebench::search {
namespace {

using testing::ElementsAre;

TEST(Hypervolume, OfRowsWorkedOutByHand) {
  EXPECT_EQ(hypervolume({}, {1, 1}), 0);
  EXPECT_EQ(hypervolume({{2}, {3}}, {10}), 8);
  // Steps: 5 x 1 + 4 x 2 + 1 x 1; the last row is dominated.
  EXPECT_EQ(hypervolume({{1, 5}, {2, 3}, {5, 2}, {5, 5}}, {6, 6}), 14);
  // Outside of the reference.
  EXPECT_EQ(hypervolume({{7, 1}, {1, 6}}, {6, 6}), 0);
  EXPECT_EQ(hypervolume({{0, 0, 0}}, {2, 3, 4}), 24);
  // Two boxes of 4 that share 1 x 1 x 2.
  EXPECT_EQ(hypervolume({{0, 1, 0}, {1, 0, 0}}, {2, 2, 2}), 6);
  EXPECT_EQ(hypervolume({{1, 1}, {1, 1}}, {2, 2}), 1);
}

// The rows of experience.md 3.5: tokens/s up, peak GiB down.
TEST(Hypervolume, FrontOfTheGraniteRows) {
  EXPECT_THAT(dominated_points({{-5200, 31.5}, {-6100, 47.0}, {-9300, 22.4}, {-11300, 34.9}}),
              ElementsAre(true, true, false, false));
  EXPECT_THAT(dominated_points({{1, 1}, {1, 1}}), ElementsAre(false, false));
}

LossRows random_rows(std::size_t count, std::size_t objectives, std::uint64_t seed) {
  LossRows rows(count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < objectives; ++j) {
      // A coarse grid makes ties.
      rows[i].push_back(static_cast<double>(uniform_int(seed, j, i, 8)) / 8);
    }
  }
  return rows;
}

TEST(Hypervolume, AgreesWithCountingCells) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const std::size_t objectives : {2U, 3U}) {
      const LossRows rows = random_rows(6, objectives, seed);
      int cells = 0;
      const int depth = objectives == 3 ? 8 : 1;
      for (int cell = 0; cell < 64 * depth; ++cell) {
        const std::vector<int> at = {cell % 8, cell / 8 % 8, cell / 64};
        cells += std::ranges::any_of(rows, [&](const std::vector<double>& row) {
          for (std::size_t j = 0; j < objectives; ++j) {
            if (row[j] * 8 > at[j]) {
              return false;
            }
          }
          return true;
        });
      }
      const std::vector<double> reference(objectives, 1.0);
      EXPECT_NEAR(hypervolume(rows, reference), cells / std::pow(8, objectives), 1e-12);
    }
  }
}

TEST(ImprovementBoxes, HoldWhatANewRowWouldAdd) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    for (const std::size_t objectives : {1U, 2U, 3U}) {
      LossRows rows = random_rows(7, objectives, seed);
      const std::vector<double> added = rows.back();
      rows.pop_back();
      const std::vector<double> reference(objectives, 1.0);
      const double before = hypervolume(rows, reference);
      const double gain = expected_volume_gain(added, std::vector<double>(objectives, 0.0),
                                               improvement_boxes(rows, reference));
      rows.push_back(added);
      EXPECT_NEAR(gain, hypervolume(rows, reference) - before, 1e-12);
    }
  }
}

// (t - m) Phi(z) + s phi(z); Phi(0) = 1/2, phi(0) = 0.39894228; Phi(1) = 0.84134475,
// phi(1) = 0.24197072; Phi(-2) = 0.02275013, phi(2) = 0.05399097.
TEST(ExpectedImprovement, AtTabledValues) {
  EXPECT_NEAR(expected_improvement(3, 1, 3), 0.39894228, 1e-8);
  EXPECT_NEAR(expected_improvement(1, 2, 3), 2 * 0.84134475 + 2 * 0.24197072, 1e-7);
  EXPECT_NEAR(expected_improvement(2, 1, 0), -2 * 0.02275013 + 0.05399097, 1e-8);
  EXPECT_EQ(expected_improvement(1, 0, 3), 2);
  EXPECT_EQ(expected_improvement(4, 0, 3), 0);
  EXPECT_GE(expected_improvement(100, 1, 0), 0);
}

TEST(ExpectedImprovement, OfTheVolumeAgreesWithDraws) {
  for (const std::size_t objectives : {2U, 3U}) {
    const LossRows rows = random_rows(5, objectives, 4);
    const std::vector<double> reference(objectives, 1.0);
    const std::vector<double> means(objectives, 0.4);
    const std::vector<double> deviations(objectives, 0.3);
    const double before = hypervolume(rows, reference);
    double sum = 0;
    double squares = 0;
    constexpr int kDraws = 20000;
    for (std::uint64_t draw = 0; draw < kDraws; ++draw) {
      LossRows with = rows;
      with.emplace_back();
      for (std::size_t j = 0; j < objectives; ++j) {
        with.back().push_back(means[j] + deviations[j] * normal(9, j, draw));
      }
      const double gain = hypervolume(with, reference) - before;
      sum += gain;
      squares += gain * gain;
    }
    const double mean = sum / kDraws;
    const double error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
    EXPECT_NEAR(expected_volume_gain(means, deviations, improvement_boxes(rows, reference)), mean,
                4 * error);
  }
}

TEST(Outcomes, PutRepeatsTogetherAndFailuresLast) {
  const std::vector<Direction> up = {Direction::Maximize};
  const std::vector<Observation> history = {
      {.point = 3, .objectives = {10}}, {.point = 1, .objectives = {}, .valid = false},
      {.point = 3, .objectives = {20}}, {.point = 2, .objectives = {std::nan("")}},
      {.point = 4, .objectives = {17}}, {.point = 1, .objectives = {18}}};
  const std::vector<Outcome> outcomes = outcomes_of(history, up);
  ASSERT_EQ(outcomes.size(), 4U);
  EXPECT_THAT(outcomes[0].losses, ElementsAre(-15));
  EXPECT_FALSE(outcomes[1].failed);
  EXPECT_TRUE(outcomes[2].failed);
  EXPECT_THAT(best_first(outcomes, reference_losses(outcomes, up, {})), ElementsAre(1, 3, 0, 2));
}

TEST(Outcomes, SeveralObjectivesComeInFrontsByAddedVolume) {
  const std::vector<Direction> both = {Direction::Minimize, Direction::Minimize};
  const std::vector<Observation> history = {{.point = 0, .objectives = {5, 5}},
                                            {.point = 1, .objectives = {1, 5}},
                                            {.point = 2, .objectives = {2, 2}},
                                            {.point = 3, .objectives = {5, 1}},
                                            {.point = 4, .objectives = {4, 4}}};
  const std::vector<Outcome> outcomes = outcomes_of(history, both);
  const std::vector<double> reference = {6, 6.5};
  // Alone 4 x 4.5 = 18; then (1, 5) adds 1 x 1.5 and (5, 1) adds 1 x 1.
  EXPECT_THAT(best_first(outcomes, reference), ElementsAre(2, 1, 3, 4, 0));
}

}  // namespace
}  // namespace tunebench::search
