#include "tunebench/engine/optim/adamw.h"

#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/engine/core/matrix.h"

namespace tunebench::engine {
namespace {

TEST(ClipScaleTest, LeavesSmallGradientsAndShrinksLargeOnesAsPyTorchDoes) {
  EXPECT_EQ(clip_scale(0.5, 1.0), 1.0);
  EXPECT_EQ(clip_scale(0.0, 1.0), 1.0);
  EXPECT_DOUBLE_EQ(clip_scale(4.0, 1.0), 1.0 / (4.0 + 1e-6));
  EXPECT_LT(clip_scale(1.0, 1.0), 1.0);
}

TEST(ClipScaleTest, DoesNothingWithoutABound) {
  EXPECT_EQ(clip_scale(1000.0, 0.0), 1.0);
  EXPECT_EQ(clip_scale(1000.0, -1.0), 1.0);
}

TEST(GradientNormTest, IsTheRootOfTheSumOfSquares) {
  const std::unique_ptr<Ops> ops = make_ref_ops(DType::F32);
  Matrix gradients(1, 2, DType::F32);
  gradients.set(0, 3.0);
  gradients.set(1, -4.0);
  EXPECT_EQ(gradient_norm(*ops, gradients.view()), 5.0);
  gradients.set(1, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isinf(gradient_norm(*ops, gradients.view())));
}

class AdamwTest : public testing::Test {
 protected:
  /// The first `decayed` elements, and the rest.
  [[nodiscard]] std::vector<TrainedMemory> memory(std::int64_t decayed) {
    const auto part = [&](std::int64_t first, std::int64_t count, bool decays) {
      return TrainedMemory{
          values_.view().col_range(first, count), gradients_.view().col_range(first, count),
          first_.view().col_range(first, count), second_.view().col_range(first, count), decays};
    };
    return {part(0, decayed, true), part(decayed, 8 - decayed, false)};
  }

  std::unique_ptr<Ops> ops_ = make_ref_ops(DType::F64);
  Matrix values_ = Matrix::normal(1, 8, DType::F64, 1);
  Matrix gradients_ = Matrix::normal(1, 8, DType::F64, 2);
  Matrix first_{1, 8, DType::F64};
  Matrix second_{1, 8, DType::F64};
};

TEST_F(AdamwTest, DecaysOnlyWhatSaysSo) {
  ops_->fill(gradients_.view(), 0.0);
  ops_->fill(values_.view(), 1.0);
  Adamw(0.5).update(*ops_, memory(5), 0.1, 1.0);
  for (std::int64_t i = 0; i < 8; ++i) {
    EXPECT_DOUBLE_EQ(values_.get(i), i < 5 ? 0.95 : 1.0);
  }
}

TEST_F(AdamwTest, CountsUpdatesForBiasCorrection) {
  // With an unchanging gradient, corrected moments are the gradient and its square at every step,
  // so each update moves a weight by the learning rate.
  Adamw adamw(0.0);
  Matrix before = Matrix::normal(1, 8, DType::F64, 1);
  for (int i = 0; i < 4; ++i) {
    adamw.update(*ops_, memory(8), 0.01, 1.0);
  }
  EXPECT_EQ(adamw.updates(), 4);
  for (std::int64_t i = 0; i < 8; ++i) {
    const double sign = gradients_.get(i) > 0 ? -1.0 : 1.0;
    EXPECT_NEAR(values_.get(i) - before.get(i), sign * 0.04, 1e-6);
  }
}

}  // namespace
}  // namespace tunebench::engine
