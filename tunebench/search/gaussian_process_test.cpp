#include "tunebench/search/internal/gaussian_process.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/random.h"
#include "tunebench/search/internal/cholesky.h"

namespace tunebench::search {
namespace {

TEST(Cholesky, FactorsAndSolves) {
  // 25 15 -5; 15 18 0; -5 0 11 = U'U with U = 5 3 -1; 0 3 1; 0 0 3.
  std::vector<double> matrix = {25, 15, -5, 15, 18, 0, -5, 0, 11};
  ASSERT_TRUE(cholesky(matrix, 3));
  EXPECT_DOUBLE_EQ(matrix[0], 5);
  EXPECT_DOUBLE_EQ(matrix[1], 3);
  EXPECT_DOUBLE_EQ(matrix[2], -1);
  EXPECT_DOUBLE_EQ(matrix[4], 3);
  EXPECT_DOUBLE_EQ(matrix[5], 1);
  EXPECT_DOUBLE_EQ(matrix[8], 3);
  // The matrix times (1, 2, 3) and times (0, 1, 0), side by side.
  std::vector<double> right = {40, 15, 51, 18, 28, 0};
  solve_lower(matrix, 3, right.data(), 2);
  solve_upper(matrix, 3, right.data(), 2);
  const std::vector<double> expected = {1, 0, 2, 1, 3, 0};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(right[i], expected[i], 1e-12);
  }
  std::vector<double> indefinite = {1, 2, 2, 1};
  EXPECT_FALSE(cholesky(indefinite, 2));
  std::vector<double> broken = {std::nan("")};
  EXPECT_FALSE(cholesky(broken, 1));
}

std::vector<Axis> line_axis(std::size_t levels) {
  Json::Array values;
  for (std::size_t i = 0; i < levels; ++i) {
    values.emplace_back(static_cast<std::int64_t>(i));
  }
  return axes_of(FiniteSpace({{"x", values}}));
}

TEST(GaussianProcess, GoesThroughCleanValuesAndIsUnsureBetween) {
  const std::vector<Axis> axes = line_axis(21);
  std::vector<Coordinates> points;
  std::vector<double> values;
  for (std::size_t x = 0; x <= 20; x += 4) {
    points.push_back({x});
    values.push_back(100 + 10 * std::sin(static_cast<double>(x) / 4));
  }
  const GaussianProcess process(axes, points, values);
  const std::vector<Prediction> known = process.predict(points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT_NEAR(known[i].mean, values[i], 0.3);
  }
  const std::vector<Coordinates> between = {{10}};
  const Prediction middle = process.predict(between)[0];
  EXPECT_NEAR(middle.mean, 100 + 10 * std::sin(2.5), 3);
  EXPECT_GT(middle.deviation, 2 * known[2].deviation);
}

TEST(GaussianProcess, FindsWhichDimensionMattersAndHowNoisyItIs) {
  Json::Array ten;
  for (int i = 0; i < 10; ++i) {
    ten.emplace_back(i);
  }
  const std::vector<Axis> axes = axes_of(FiniteSpace({{"x", ten}, {"y", ten}}));
  std::vector<Coordinates> points;
  std::vector<double> clean;
  std::vector<double> noisy;
  for (std::size_t i = 0; i < 50; ++i) {
    points.push_back({i % 10, (i / 10 + i) % 10});
    clean.push_back(std::sin(static_cast<double>(i % 10)));
    noisy.push_back(clean.back() + 0.5 * normal(2, 2, i));
  }
  const GaussianProcess quiet(axes, points, clean);
  EXPECT_GT(quiet.lengths()[1], 5 * quiet.lengths()[0]);
  EXPECT_GT(GaussianProcess(axes, points, noisy).noise(), 20 * quiet.noise());
}

TEST(GaussianProcess, TakesOnePointEqualValuesAndNoDimension) {
  const std::vector<Axis> axes = line_axis(3);
  const std::vector<Coordinates> all = {{0}, {1}, {2}};
  const std::vector<double> one = {5};
  for (const Prediction& prediction : GaussianProcess(axes, {{1}}, one).predict(all)) {
    EXPECT_NEAR(prediction.mean, 5, 1e-9);
    EXPECT_TRUE(std::isfinite(prediction.deviation));
  }
  const std::vector<double> same = {7, 7, 7};
  EXPECT_NEAR(GaussianProcess(axes, all, same).predict(all)[1].mean, 7, 1e-9);
  const std::vector<Coordinates> nowhere = {{}};
  EXPECT_NEAR(GaussianProcess({}, nowhere, one).predict(nowhere)[0].mean, 5, 1e-9);
}

}  // namespace
}  // namespace tunebench::search
