#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/ops/cpu/kernels.h"
#include "tunebench/engine/ops/cpu/op_case.h"

namespace tunebench::engine::cpu {
namespace {

// A row whose running maximum is already 0 becomes e^x.
TEST(SoftmaxTile, ExponentialsAreWithinTwoUnitsInTheLastPlace) {
  on_each_instruction_set([] {
    constexpr std::int64_t kCount = 100'003;
    Matrix row(1, kCount, DType::F32);
    for (std::int64_t i = 0; i < kCount; ++i) {
      row.set(i, -87.0 * static_cast<double>(i) / kCount);
    }
    Matrix exponents(1, kCount, DType::F32);
    for (std::int64_t i = 0; i < kCount; ++i) {
      exponents.set(i, row.get(i));
    }
    float top = 0.0F;
    float sum = 0.0F;
    float factor = 0.0F;
    softmax_tile({.scores = row.view(), .first_visible = kCount}, &top, &sum, &factor);
    EXPECT_EQ(factor, 1.0F);
    double worst = 0.0;
    for (std::int64_t i = 0; i < kCount; ++i) {
      const double exact = std::exp(exponents.get(i));
      worst = std::max(worst, std::abs(row.get(i) - exact) / exact);
    }
    // Two units in the last place of a number just above a power of two.
    EXPECT_LT(worst, 2.0 * static_cast<double>(std::numeric_limits<float>::epsilon()));
  });
}

TEST(SoftmaxTile, LaterTilesRescaleWhatEarlierOnesLeft) {
  on_each_instruction_set([] {
    Matrix first(1, 1, DType::F32);
    Matrix second(1, 2, DType::F32);
    first.set(0, 1.0);
    second.set(0, 3.0);
    second.set(1, 2.0);
    float top = -std::numeric_limits<float>::infinity();
    float sum = 0.0F;
    float factor = 1.0F;
    softmax_tile({.scores = first.view()}, &top, &sum, &factor);
    EXPECT_EQ(factor, 0.0F);
    softmax_tile({.scores = second.view(), .first_visible = 1}, &top, &sum, &factor);
    EXPECT_EQ(top, 3.0F);
    EXPECT_NEAR(factor, std::exp(-2.0), 1e-7);
    EXPECT_NEAR(sum, 1.0 + std::exp(-1.0) + std::exp(-2.0), 1e-6);
  });
}

TEST(SoftmaxTile, WhatIsNotVisibleBecomesZero) {
  on_each_instruction_set([] {
    Matrix scores = Matrix::normal(3, 5, DType::F32, 1);
    float top[3] = {-1e30F, -1e30F, -1e30F};
    float sum[3] = {};
    float factor[3];
    softmax_tile({.scores = scores.view(), .first_visible = 1}, top, sum, factor);
    for (std::int64_t row = 0; row < 3; ++row) {
      for (std::int64_t col = 0; col < 5; ++col) {
        EXPECT_EQ(scores.get(row * 5 + col) == 0.0, col > row + 1) << row << " " << col;
      }
    }
  });
}

}  // namespace
}  // namespace tunebench::engine::cpu
