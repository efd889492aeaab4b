#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {
namespace {

// Every gradient against central differences in double: relative 1e-7.
constexpr double kTolerance = 1e-7;

class RefOpsTest : public testing::Test {
 protected:
  static Matrix zeros(std::int64_t rows, std::int64_t cols) { return {rows, cols, DType::F64}; }
  Matrix random(std::int64_t rows, std::int64_t cols, double deviation = 1.0) {
    return Matrix::normal(rows, cols, DType::F64, ++seed_, deviation);
  }
  /// What an output is multiplied with to make one number of it: its own gradient.
  void expect_slope(const std::function<double()>& f, Matrix& value, Matrix& gradient) {
    EXPECT_LT(slope_error(f, value.view(), gradient.view(), ++seed_), kTolerance);
  }

  std::unique_ptr<Ops> ops_ = make_ref_ops(DType::F64);
  std::uint64_t seed_ = 0;
};

TEST_F(RefOpsTest, TellsWhatItIs) {
  EXPECT_EQ(ops_->name(), "ref");
  EXPECT_EQ(ops_->isa(), "scalar");
  EXPECT_EQ(ops_->threads(), 1);
  EXPECT_EQ(make_ref_ops(DType::F32)->dtype(), DType::F32);
  EXPECT_EQ(ops_->dtype(), DType::F64);
}

TEST_F(RefOpsTest, MultipliesKnownMatricesInEveryOrientation) {
  // [1 2 3; 4 5 6] [7 8; 9 10; 11 12] = [58 64; 139 154]
  Matrix a = zeros(2, 3);
  Matrix a_turned = zeros(3, 2);
  Matrix b = zeros(3, 2);
  Matrix b_turned = zeros(2, 3);
  for (std::int64_t i = 0; i < 2; ++i) {
    for (std::int64_t k = 0; k < 3; ++k) {
      a.set(i * 3 + k, static_cast<double>(1 + i * 3 + k));
      a_turned.set(k * 2 + i, static_cast<double>(1 + i * 3 + k));
      b.set(k * 2 + i, static_cast<double>(7 + k * 2 + i));
      b_turned.set(i * 3 + k, static_cast<double>(7 + k * 2 + i));
    }
  }
  const std::array<double, 4> product = {58, 64, 139, 154};
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      Matrix c = zeros(2, 2);
      const View left = (transpose_a ? a_turned : a).view();
      const View right = (transpose_b ? b_turned : b).view();
      ops_->gemm(transpose_a, transpose_b, left, right, c.view(), false);
      ops_->gemm(transpose_a, transpose_b, left, right, c.view(), true);
      for (std::int64_t i = 0; i < 4; ++i) {
        EXPECT_EQ(c.get(i), 2 * product[static_cast<std::size_t>(i)]);
      }
    }
  }
}

TEST_F(RefOpsTest, MultipliesPartsOfLargerMatrices) {
  Matrix wide = random(4, 9);
  Matrix b = random(5, 6);
  Matrix wide_result = random(4, 11);
  Matrix untouched = zeros(4, 11);
  ops_->copy(wide_result.view(), untouched.view());
  Matrix whole = zeros(4, 5);
  ops_->copy(wide.view().col_range(2, 5), whole.view());
  Matrix result = zeros(4, 6);
  ops_->gemm(false, false, whole.view(), b.view(), result.view(), false);
  ops_->gemm(false, false, wide.view().col_range(2, 5), b.view(),
             wide_result.view().col_range(3, 6), false);
  EXPECT_EQ(relative_difference(wide_result.view().col_range(3, 6), result.view()), 0);
  EXPECT_EQ(
      relative_difference(wide_result.view().col_range(0, 3), untouched.view().col_range(0, 3)), 0);
  EXPECT_EQ(
      relative_difference(wide_result.view().col_range(9, 2), untouched.view().col_range(9, 2)), 0);
}

TEST_F(RefOpsTest, ProductsWithTransposesAreTheGradientsOfALinearLayer) {
  Matrix x = random(5, 7);
  Matrix w = random(3, 7);
  Matrix b = random(1, 3);
  Matrix dy = random(5, 3);
  Matrix y = zeros(5, 3);
  const auto f = [&] {
    ops_->gemm(false, true, x.view(), w.view(), y.view(), false);
    ops_->add_bias(b.view(), y.view());
    return inner_product(y.view(), dy.view());
  };
  Matrix dx = random(5, 7);
  Matrix dw = random(3, 7);
  Matrix db = random(1, 3);
  ops_->gemm(false, false, dy.view(), w.view(), dx.view(), false);
  ops_->gemm(true, false, dy.view(), x.view(), dw.view(), false);
  ops_->bias_backward(dy.view(), db.view(), false);
  expect_slope(f, x, dx);
  expect_slope(f, w, dw);
  expect_slope(f, b, db);
}

TEST_F(RefOpsTest, BiasGradientsAccumulate) {
  Matrix dy = random(6, 4);
  Matrix once = random(1, 4);
  ops_->bias_backward(dy.view(), once.view(), false);
  Matrix twice = zeros(1, 4);
  ops_->bias_backward(dy.view(), twice.view(), true);
  ops_->bias_backward(dy.view(), twice.view(), true);
  for (std::int64_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(twice.get(i), 2 * once.get(i));
  }
}

TEST_F(RefOpsTest, NormalisesToUnitRootMeanSquare) {
  Matrix x = zeros(1, 4);
  x.set(0, 2);
  x.set(1, -2);
  x.set(2, 2);
  x.set(3, 2);
  Matrix weight = zeros(1, 4);
  ops_->fill(weight.view(), 3.0);
  Matrix y = zeros(1, 4);
  Matrix rstd = zeros(1, 1);
  ops_->rms_norm(x.view(), weight.view(), 0.0, y.view(), rstd.view());
  EXPECT_DOUBLE_EQ(rstd.get(0), 0.5);
  EXPECT_DOUBLE_EQ(y.get(1), -3.0);
}

TEST_F(RefOpsTest, NormalisationGradientsMatchSlopes) {
  constexpr double kEpsilon = 1e-5;
  Matrix x = random(5, 8);
  Matrix weight = random(1, 8);
  Matrix dy = random(5, 8);
  Matrix y = zeros(5, 8);
  Matrix rstd = zeros(1, 5);
  const auto f = [&] {
    ops_->rms_norm(x.view(), weight.view(), kEpsilon, y.view(), rstd.view());
    return inner_product(y.view(), dy.view());
  };
  static_cast<void>(f());
  Matrix dx = zeros(5, 8);
  Matrix dweight = random(1, 8);
  ops_->rms_norm_backward(dy.view(), x.view(), weight.view(), rstd.view(), dx.view(),
                          dweight.view(), false);
  expect_slope(f, x, dx);
  expect_slope(f, weight, dweight);
}

TEST_F(RefOpsTest, NormalisationAddsToInputGradientAndSkipsAnEmptyWeightGradient) {
  Matrix x = random(3, 6);
  Matrix weight = random(1, 6);
  Matrix dy = random(3, 6);
  Matrix y = zeros(3, 6);
  Matrix rstd = zeros(1, 3);
  ops_->rms_norm(x.view(), weight.view(), 1e-5, y.view(), rstd.view());
  Matrix once = zeros(3, 6);
  Matrix twice = zeros(3, 6);
  ops_->rms_norm_backward(dy.view(), x.view(), weight.view(), rstd.view(), once.view(), {}, false);
  for (int i = 0; i < 2; ++i) {
    ops_->rms_norm_backward(dy.view(), x.view(), weight.view(), rstd.view(), twice.view(), {},
                            false);
  }
  for (std::int64_t i = 0; i < 18; ++i) {
    EXPECT_DOUBLE_EQ(twice.get(i), 2 * once.get(i));
  }
}

TEST_F(RefOpsTest, FusedSumAndNormalisationGiveTheBitsOfTheTwoSteps) {
  Matrix x = random(4, 6);
  Matrix delta = random(4, 6);
  Matrix weight = random(1, 6);
  Matrix sum = zeros(4, 6);
  Matrix y = zeros(4, 6);
  Matrix rstd = zeros(1, 4);
  ops_->add_rms_norm(x.view(), delta.view(), weight.view(), 1e-5, sum.view(), y.view(),
                     rstd.view());
  ops_->add(delta.view(), x.view());
  Matrix wanted = zeros(4, 6);
  Matrix wanted_rstd = zeros(1, 4);
  ops_->rms_norm(x.view(), weight.view(), 1e-5, wanted.view(), wanted_rstd.view());
  EXPECT_EQ(relative_difference(sum.view(), x.view()), 0);
  EXPECT_EQ(relative_difference(y.view(), wanted.view()), 0);
  EXPECT_EQ(relative_difference(rstd.view(), wanted_rstd.view()), 0);
}

/// Two sequences of five tokens; four query heads read two key heads, six wide.
constexpr Heads kHeads{.query = 4, .key_value = 2, .width = 6};
constexpr Sequences kSequences{.count = 2, .length = 5};

TEST_F(RefOpsTest, RotatesEachPairByItsPositionsAngle) {
  constexpr Heads kOne{.query = 1, .key_value = 1, .width = 2};
  Matrix table = zeros(2, 2);
  table.set(0, 1.0);  // position 0: angle 0
  table.set(2, 0.0);  // position 1: a quarter turn
  table.set(3, 1.0);
  Matrix qkv = zeros(2, 6);
  for (std::int64_t i = 0; i < 12; ++i) {
    qkv.set(i, static_cast<double>(i + 1));
  }
  ops_->rope(qkv.view(), kOne, {1, 2}, table.view(), false);
  const std::array<double, 12> wanted = {1, 2, 3, 4, 5, 6, -8, 7, -10, 9, 11, 12};
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(qkv.get(i), wanted[static_cast<std::size_t>(i)]) << i;
  }
}

TEST_F(RefOpsTest, RotatingBackUndoesARotationAndStartsAnewInEachSequence) {
  Matrix table = zeros(kSequences.length, kHeads.width);
  for (std::int64_t t = 0; t < kSequences.length; ++t) {
    for (std::int64_t i = 0; i < 3; ++i) {
      const double angle = static_cast<double>(t) / static_cast<double>(1 + i);
      table.set(t * 6 + i, std::cos(angle));
      table.set(t * 6 + 3 + i, std::sin(angle));
    }
  }
  Matrix before = random(10, kHeads.fused_cols());
  Matrix after = zeros(10, kHeads.fused_cols());
  ops_->copy(before.view().row_range(0, 5), before.view().row_range(5, 5));
  ops_->copy(before.view(), after.view());
  ops_->rope(after.view(), kHeads, kSequences, table.view(), false);
  EXPECT_EQ(relative_difference(after.view().row_range(5, 5), after.view().row_range(0, 5)), 0);
  EXPECT_GT(relative_difference(after.view(), before.view()), 0.1);
  ops_->rope(after.view(), kHeads, kSequences, table.view(), true);
  EXPECT_LT(relative_difference(after.view(), before.view()), 1e-15);
}

TEST_F(RefOpsTest, AttentionOfTheFirstTokenIsItsOwnValue) {
  Matrix qkv = random(10, kHeads.fused_cols());
  Matrix out = zeros(10, kHeads.query_cols());
  Matrix lse = zeros(kHeads.query, 10);
  ops_->attention(qkv.view(), kHeads, kSequences, {.scale = 0.4}, out.view(), lse.view());
  for (const std::int64_t first : {0, 5}) {
    for (std::int64_t head = 0; head < 4; ++head) {
      for (std::int64_t i = 0; i < 6; ++i) {
        EXPECT_DOUBLE_EQ(out.get(first * 24 + head * 6 + i),
                         qkv.get(first * 48 + (6 + head / 2) * 6 + i));
      }
    }
  }
}

TEST_F(RefOpsTest, AttentionNeverLooksAheadOrAtAnotherSequence) {
  Matrix qkv = random(10, kHeads.fused_cols());
  Matrix before = zeros(10, kHeads.query_cols());
  Matrix after = zeros(10, kHeads.query_cols());
  Matrix lse = zeros(kHeads.query, 10);
  ops_->attention(qkv.view(), kHeads, kSequences, {.scale = 0.4}, before.view(), lse.view());
  ops_->fill(qkv.view().row_range(3, 2), 9.0);
  ops_->attention(qkv.view(), kHeads, kSequences, {.scale = 0.4}, after.view(), lse.view());
  EXPECT_EQ(relative_difference(after.view().row_range(0, 3), before.view().row_range(0, 3)), 0);
  EXPECT_EQ(relative_difference(after.view().row_range(5, 5), before.view().row_range(5, 5)), 0);
  EXPECT_GT(relative_difference(after.view().row_range(3, 2), before.view().row_range(3, 2)), 0.1);
}

TEST_F(RefOpsTest, AttentionGradientsMatchSlopes) {
  for (const std::int64_t key_heads : {1, 2, 4}) {
    const Heads heads{.query = 4, .key_value = key_heads, .width = 6};
    Matrix qkv = random(10, heads.fused_cols());
    Matrix dout = random(10, heads.query_cols());
    Matrix out = zeros(10, heads.query_cols());
    Matrix lse = zeros(heads.query, 10);
    const auto f = [&] {
      ops_->attention(qkv.view(), heads, kSequences, {.scale = 0.4}, out.view(), lse.view());
      return inner_product(out.view(), dout.view());
    };
    static_cast<void>(f());
    Matrix dqkv = random(10, heads.fused_cols());
    ops_->attention_backward(dout.view(), qkv.view(), out.view(), lse.view(), heads, kSequences,
                             {.scale = 0.4}, dqkv.view());
    expect_slope(f, qkv, dqkv);
  }
}

TEST_F(RefOpsTest, EmbeddingGradientsMatchSlopesWithRepeatedTokens) {
  const std::vector<std::int32_t> ids = {3, 0, 3, 1, 3};
  Matrix table = random(5, 4);
  Matrix dout = random(5, 4);
  Matrix out = zeros(5, 4);
  const auto f = [&] {
    ops_->embed(ids, table.view(), out.view());
    return inner_product(out.view(), dout.view());
  };
  Matrix dtable = zeros(5, 4);
  ops_->embed_backward(ids, dout.view(), dtable.view());
  expect_slope(f, table, dtable);
}

TEST_F(RefOpsTest, ScatterPutsRowsBackAndClearsTheOthers) {
  const std::vector<std::int32_t> rows = {4, 1};
  Matrix x = random(5, 3);
  Matrix some = zeros(2, 3);
  ops_->gather_rows(x.view(), rows, some.view());
  Matrix back = random(5, 3);
  ops_->scatter_rows(some.view(), rows, back.view());
  for (std::int64_t t = 0; t < 5; ++t) {
    for (std::int64_t j = 0; j < 3; ++j) {
      EXPECT_EQ(back.get(t * 3 + j), t == 4 || t == 1 ? x.get(t * 3 + j) : 0.0);
    }
  }
}

TEST_F(RefOpsTest, CrossEntropyGradientsMatchSlopes) {
  const std::vector<std::int32_t> labels = {0, 6, 2};
  Matrix logits = random(3, 7);
  Matrix work = zeros(3, 7);
  const auto f = [&] {
    ops_->copy(logits.view(), work.view());
    return 0.25 * ops_->cross_entropy(work.view(), labels, 0.25);
  };
  static_cast<void>(f());
  Matrix dlogits = zeros(3, 7);
  ops_->copy(work.view(), dlogits.view());
  expect_slope(f, logits, dlogits);
}

TEST_F(RefOpsTest, CrossEntropyOfEqualLogitsIsTheLogarithmOfTheirNumber) {
  const std::vector<std::int32_t> labels = {1, 0};
  Matrix logits = zeros(2, 8);
  ops_->fill(logits.view(), 500.0);
  EXPECT_DOUBLE_EQ(ops_->cross_entropy(logits.view(), labels, 1.0), 2 * std::log(8.0));
}

TEST_F(RefOpsTest, CrossEntropyOfANanIsNan) {
  const std::vector<std::int32_t> labels = {1};
  Matrix logits = zeros(1, 4);
  logits.set(2, std::numeric_limits<double>::quiet_NaN());
  EXPECT_TRUE(std::isnan(ops_->cross_entropy(logits.view(), labels, 1.0)));
}

TEST_F(RefOpsTest, SumsSquares) {
  Matrix x = zeros(2, 3);
  ops_->fill(x.view(), -2.0);
  EXPECT_EQ(ops_->sum_squares(x.view()), 24.0);
  EXPECT_EQ(ops_->sum_squares(x.view().col_range(1, 2)), 16.0);
}

TEST_F(RefOpsTest, FirstAdamwStepMovesEachWeightByTheRateAgainstItsGradient) {
  Matrix p = zeros(1, 3);
  Matrix g = zeros(1, 3);
  Matrix m = zeros(1, 3);
  Matrix v = zeros(1, 3);
  ops_->fill(p.view(), 1.0);
  g.set(0, 5.0);
  g.set(1, -0.01);
  ops_->adamw(p.view(), g.view(), m.view(), v.view(), {.learning_rate = 0.1});
  EXPECT_NEAR(p.get(0), 0.9, 1e-9);
  EXPECT_NEAR(p.get(1), 1.1, 1e-6);
  EXPECT_EQ(p.get(2), 1.0);
  EXPECT_DOUBLE_EQ(m.get(0), 0.5);
  EXPECT_NEAR(v.get(0), 0.025, 1e-15);
}

TEST_F(RefOpsTest, AdamwDecaysWeightsApartFromGradientsAndScalesGradientsFirst) {
  Matrix p = zeros(1, 1);
  Matrix g = zeros(1, 1);
  Matrix m = zeros(1, 1);
  Matrix v = zeros(1, 1);
  p.set(0, 2.0);
  g.set(0, 8.0);
  ops_->adamw(p.view(), g.view(), m.view(), v.view(),
              {.learning_rate = 0.1, .weight_decay = 0.5, .gradient_scale = 0.25});
  EXPECT_NEAR(p.get(0), 2.0 * (1 - 0.05) - 0.1, 1e-9);
  EXPECT_DOUBLE_EQ(m.get(0), 0.2);
}

TEST_F(RefOpsTest, Float32AgreesWithFloat64) {
  const std::unique_ptr<Ops> narrow = make_ref_ops(DType::F32);
  Matrix qkv = random(10, kHeads.fused_cols());
  Matrix out = zeros(10, kHeads.query_cols());
  Matrix lse = zeros(kHeads.query, 10);
  ops_->attention(qkv.view(), kHeads, kSequences, {.scale = 0.4}, out.view(), lse.view());
  Matrix narrow_qkv(10, kHeads.fused_cols(), DType::F32);
  Matrix narrow_out(10, kHeads.query_cols(), DType::F32);
  Matrix narrow_lse(kHeads.query, 10, DType::F32);
  for (std::int64_t i = 0; i < qkv.view().elements(); ++i) {
    narrow_qkv.set(i, qkv.get(i));
  }
  narrow->attention(narrow_qkv.view(), kHeads, kSequences, {.scale = 0.4}, narrow_out.view(),
                    narrow_lse.view());
  EXPECT_LT(relative_difference(narrow_out.view(), out.view()), 1e-6);
  EXPECT_LT(relative_difference(narrow_lse.view(), lse.view()), 1e-6);
}

}  // namespace
}  // namespace tunebench::engine
