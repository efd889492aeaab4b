// The operations that not every family of models needs, each gradient against central differences.
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {
namespace {

constexpr Sequences kTwoOfFive{.count = 2, .length = 5};

class RefSwitchesTest : public testing::Test {
 protected:
  static Matrix zeros(std::int64_t rows, std::int64_t cols) { return {rows, cols, DType::F64}; }
  Matrix random(std::int64_t rows, std::int64_t cols, double deviation = 1.0) {
    return Matrix::normal(rows, cols, DType::F64, ++seed_, deviation);
  }
  void expect_slope(const std::function<double()>& f, Matrix& value, Matrix& gradient) {
    EXPECT_LT(slope_error(f, value.view(), gradient.view(), ++seed_), 1e-7);
  }
  void expect_attention_slopes(const Heads& heads, const Scoring& scoring) {
    Matrix qkv = random(10, heads.fused_cols());
    Matrix dout = random(10, heads.query_cols());
    Matrix out = zeros(10, heads.query_cols());
    Matrix lse = zeros(heads.query, 10);
    const auto f = [&] {
      ops_->attention(qkv.view(), heads, kTwoOfFive, scoring, out.view(), lse.view());
      return inner_product(out.view(), dout.view());
    };
    static_cast<void>(f());
    Matrix dqkv = random(10, heads.fused_cols());
    ops_->attention_backward(dout.view(), qkv.view(), out.view(), lse.view(), heads, kTwoOfFive,
                             scoring, dqkv.view());
    expect_slope(f, qkv, dqkv);
  }

  std::unique_ptr<Ops> ops_ = make_ref_ops(DType::F64);
  std::uint64_t seed_ = 0;
};

TEST_F(RefSwitchesTest, NormWithAnOffsetMultipliesWithOnePlusTheWeight) {
  Matrix x = random(5, 8);
  Matrix weight = random(1, 8);
  Matrix whole = zeros(1, 8);
  for (std::int64_t i = 0; i < 8; ++i) {
    whole.set(i, 1.0 + weight.get(i));
  }
  Matrix dy = random(5, 8);
  Matrix y = zeros(5, 8);
  Matrix wanted = zeros(5, 8);
  Matrix rstd = zeros(1, 5);
  ops_->rms_norm(x.view(), whole.view(), 1e-6, wanted.view(), rstd.view());
  const auto f = [&] {
    ops_->rms_norm(x.view(), {weight.view(), 1.0}, 1e-6, y.view(), rstd.view());
    return inner_product(y.view(), dy.view());
  };
  static_cast<void>(f());
  EXPECT_LT(relative_difference(y.view(), wanted.view()), 1e-15);
  Matrix dx = zeros(5, 8);
  Matrix dweight = random(1, 8);
  ops_->rms_norm_backward(dy.view(), x.view(), {weight.view(), 1.0}, rstd.view(), dx.view(),
                          dweight.view(), false);
  expect_slope(f, x, dx);
  expect_slope(f, weight, dweight);
}

TEST_F(RefSwitchesTest, LayerNormHasMeanBiasAndUnitVariance) {
  Matrix x = zeros(1, 4);
  for (std::int64_t i = 0; i < 4; ++i) {
    x.set(i, i % 2 == 0 ? 7.0 : 3.0);
  }
  Matrix weight = zeros(1, 4);
  Matrix bias = zeros(1, 4);
  ops_->fill(weight.view(), 3.0);
  ops_->fill(bias.view(), 0.5);
  Matrix y = zeros(1, 4);
  Matrix stats = zeros(2, 1);
  ops_->layer_norm(x.view(), weight.view(), bias.view(), 0.0, y.view(), stats.view());
  EXPECT_DOUBLE_EQ(stats.get(0), 5.0);
  EXPECT_DOUBLE_EQ(stats.get(1), 0.5);
  EXPECT_DOUBLE_EQ(y.get(0), 3.5);
  EXPECT_DOUBLE_EQ(y.get(1), -2.5);
}

TEST_F(RefSwitchesTest, LayerNormGradientsMatchSlopes) {
  Matrix x = random(5, 8);
  Matrix weight = random(1, 8);
  Matrix bias = random(1, 8);
  Matrix delta = random(5, 8);
  Matrix dy = random(5, 8);
  Matrix sum = zeros(5, 8);
  Matrix y = zeros(5, 8);
  Matrix stats = zeros(2, 5);
  const auto f = [&] {
    ops_->add_layer_norm(x.view(), delta.view(), weight.view(), bias.view(), 1e-5, sum.view(),
                         y.view(), stats.view());
    return inner_product(y.view(), dy.view());
  };
  static_cast<void>(f());
  Matrix dx = zeros(5, 8);
  Matrix dweight = random(1, 8);
  Matrix dbias = random(1, 8);
  ops_->layer_norm_backward(dy.view(), sum.view(), weight.view(), stats.view(), dx.view(),
                            dweight.view(), dbias.view(), false);
  expect_slope(f, x, dx);
  expect_slope(f, delta, dx);
  expect_slope(f, weight, dweight);
  expect_slope(f, bias, dbias);
}

TEST_F(RefSwitchesTest, HeadNormGradientsMatchSlopesAlsoInPlace) {
  for (const double offset : {0.0, 1.0}) {
    Matrix x = random(4, 15);
    Matrix weight = random(1, 5);
    Matrix dy = random(4, 15);
    Matrix y = zeros(4, 15);
    Matrix rstd = zeros(4, 3);
    const auto f = [&] {
      ops_->head_norm(x.view(), {weight.view(), offset}, 1e-6, y.view(), rstd.view());
      return inner_product(y.view(), dy.view());
    };
    static_cast<void>(f());
    Matrix dx = random(4, 15);
    Matrix dweight = random(1, 5);
    ops_->head_norm_backward(dy.view(), x.view(), {weight.view(), offset}, rstd.view(), dx.view(),
                             dweight.view(), false);
    expect_slope(f, x, dx);
    expect_slope(f, weight, dweight);
    ops_->head_norm_backward(dy.view(), x.view(), {weight.view(), offset}, rstd.view(), dy.view(),
                             {}, false);
    EXPECT_EQ(relative_difference(dy.view(), dx.view()), 0);
  }
}

TEST_F(RefSwitchesTest, RotatesOnlyTheFirstColumnsOfAHead) {
  constexpr Heads kOne{.query = 1, .key_value = 1, .width = 4};
  Matrix table = zeros(2, 2);
  table.set(0, 1.0);
  table.set(3, 1.0);  // position 1: a quarter turn
  Matrix qkv = random(2, 12);
  Matrix before = zeros(2, 12);
  ops_->copy(qkv.view(), before.view());
  ops_->rope(qkv.view(), kOne, {1, 2}, table.view(), false);
  for (const std::int64_t head : {0, 4}) {
    EXPECT_EQ(qkv.get(12 + head), -before.get(12 + head + 1));
    EXPECT_EQ(qkv.get(12 + head + 1), before.get(12 + head));
    EXPECT_EQ(qkv.get(12 + head + 2), before.get(12 + head + 2));
    EXPECT_EQ(qkv.get(12 + head + 3), before.get(12 + head + 3));
  }
}

TEST_F(RefSwitchesTest, AttentionGradientsMatchSlopesForEachWayOfScoring) {
  const Heads shared{.query = 4, .key_value = 2, .width = 6};
  expect_attention_slopes(shared, {.scale = 0.4, .window = 2});
  expect_attention_slopes(shared, {.scale = 0.4, .cap = 1.5});
  expect_attention_slopes(shared, {.scale = 0.4, .alibi = true});
  expect_attention_slopes(shared, {.scale = 0.4, .window = 3, .cap = 2.0, .alibi = true});
  expect_attention_slopes({.query = 3, .key_value = 3, .width = 6, .interleaved = true},
                          {.scale = 0.4, .alibi = true});
}

TEST_F(RefSwitchesTest, AWindowOfOneSeesTheTokenItselfAlone) {
  const Heads heads{.query = 2, .key_value = 1, .width = 3};
  Matrix qkv = random(10, heads.fused_cols());
  Matrix out = zeros(10, heads.query_cols());
  Matrix lse = zeros(2, 10);
  ops_->attention(qkv.view(), heads, kTwoOfFive, {.scale = 0.4, .window = 1}, out.view(),
                  lse.view());
  for (std::int64_t t = 0; t < 10; ++t) {
    for (std::int64_t i = 0; i < 6; ++i) {
      EXPECT_DOUBLE_EQ(out.get(t * 6 + i), qkv.get(t * 12 + 9 + i % 3));
    }
  }
}

TEST_F(RefSwitchesTest, ACapFarAboveTheScoresChangesNothing) {
  const Heads heads{.query = 2, .key_value = 1, .width = 3};
  Matrix qkv = random(10, heads.fused_cols());
  Matrix plain = zeros(10, heads.query_cols());
  Matrix capped = zeros(10, heads.query_cols());
  Matrix lse = zeros(2, 10);
  ops_->attention(qkv.view(), heads, kTwoOfFive, {.scale = 0.4}, plain.view(), lse.view());
  ops_->attention(qkv.view(), heads, kTwoOfFive, {.scale = 0.4, .cap = 1e6}, capped.view(),
                  lse.view());
  EXPECT_LT(relative_difference(capped.view(), plain.view()), 1e-10);
}

TEST_F(RefSwitchesTest, InterleavedHeadsAreTheSameHeadsElsewhere) {
  const Heads packed{.query = 2, .key_value = 2, .width = 3};
  const Heads interleaved{.query = 2, .key_value = 2, .width = 3, .interleaved = true};
  Matrix qkv = random(10, packed.fused_cols());
  Matrix moved = zeros(10, packed.fused_cols());
  for (std::int64_t head = 0; head < 2; ++head) {
    const auto move = [&](std::int64_t from, std::int64_t to) {
      ops_->copy(qkv.view().col_range(from, 3), moved.view().col_range(to, 3));
    };
    move(packed.query_col(head), interleaved.query_col(head));
    move(packed.key_col(head), interleaved.key_col(head));
    move(packed.value_col(head), interleaved.value_col(head));
  }
  Matrix wanted = zeros(10, 6);
  Matrix got = zeros(10, 6);
  Matrix lse = zeros(2, 10);
  ops_->attention(qkv.view(), packed, kTwoOfFive, {.scale = 0.4}, wanted.view(), lse.view());
  ops_->attention(moved.view(), interleaved, kTwoOfFive, {.scale = 0.4}, got.view(), lse.view());
  EXPECT_EQ(relative_difference(got.view(), wanted.view()), 0);
}

TEST(AlibiSlope, FollowsThePublishedSeries) {
  for (std::int64_t head = 0; head < 8; ++head) {
    EXPECT_DOUBLE_EQ(alibi_slope(head, 8), std::pow(0.5, static_cast<double>(head + 1)));
  }
  // Twelve heads: those of eight, then every other of sixteen.
  EXPECT_DOUBLE_EQ(alibi_slope(7, 12), 1.0 / 256.0);
  EXPECT_DOUBLE_EQ(alibi_slope(8, 12), std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(alibi_slope(9, 12), std::sqrt(0.5) / 2.0);
  EXPECT_DOUBLE_EQ(alibi_slope(0, 1), 1.0 / 256.0);
}

constexpr std::array kEach = {Activation::Silu, Activation::GeluTanh, Activation::Gelu};

TEST_F(RefSwitchesTest, ActivationsHaveTheirKnownValues) {
  Matrix x = zeros(1, 1);
  x.set(0, 1.0);
  Matrix y = zeros(1, 1);
  const std::array<double, 3> wanted = {0.7310585786300049, 0.8411919906082768, 0.8413447460685429};
  for (std::size_t i = 0; i < kEach.size(); ++i) {
    ops_->activate(kEach[i], x.view(), y.view());
    EXPECT_NEAR(y.get(0), wanted[i], 1e-15);
  }
}

TEST_F(RefSwitchesTest, GatedGradientsMatchSlopesAlsoInPlace) {
  for (const Activation activation : kEach) {
    Matrix gate_up = random(4, 10);
    Matrix dh = random(4, 5);
    Matrix h = zeros(4, 5);
    const auto f = [&] {
      ops_->gated(activation, gate_up.view(), h.view());
      return inner_product(h.view(), dh.view());
    };
    Matrix apart = random(4, 10);
    ops_->gated_backward(activation, gate_up.view(), dh.view(), apart.view());
    expect_slope(f, gate_up, apart);
    ops_->gated_backward(activation, gate_up.view(), dh.view(), gate_up.view());
    EXPECT_EQ(relative_difference(gate_up.view(), apart.view()), 0);
  }
}

TEST_F(RefSwitchesTest, ActivationGradientsMatchSlopesAlsoInPlace) {
  for (const Activation activation : kEach) {
    Matrix x = random(4, 5);
    Matrix dy = random(4, 5);
    Matrix y = zeros(4, 5);
    const auto f = [&] {
      ops_->activate(activation, x.view(), y.view());
      return inner_product(y.view(), dy.view());
    };
    Matrix apart = random(4, 5);
    ops_->activate_backward(activation, x.view(), dy.view(), apart.view());
    expect_slope(f, x, apart);
    ops_->activate_backward(activation, x.view(), dy.view(), x.view());
    EXPECT_EQ(relative_difference(x.view(), apart.view()), 0);
  }
}

TEST_F(RefSwitchesTest, LargeGatesNeitherOverflowNorLoseTheSign) {
  for (const Activation activation : kEach) {
    Matrix gate_up = zeros(1, 4);
    gate_up.set(0, 1000.0);
    gate_up.set(1, -1000.0);
    gate_up.set(2, 2.0);
    gate_up.set(3, 2.0);
    Matrix h = zeros(1, 2);
    ops_->gated(activation, gate_up.view(), h.view());
    EXPECT_EQ(h.get(0), 2000.0);
    EXPECT_EQ(h.get(1), 0.0);
  }
}

TEST_F(RefSwitchesTest, SoftCapGradientMatchesSlopes) {
  Matrix x = random(3, 7, 4.0);
  Matrix dy = random(3, 7);
  Matrix y = zeros(3, 7);
  const auto f = [&] {
    ops_->soft_cap(2.5, x.view(), y.view());
    return inner_product(y.view(), dy.view());
  };
  static_cast<void>(f());
  for (std::int64_t i = 0; i < 21; ++i) {
    EXPECT_LE(std::abs(y.get(i)), 2.5);
  }
  Matrix dx = zeros(3, 7);
  ops_->soft_cap_backward(2.5, y.view(), dy.view(), dx.view());
  expect_slope(f, x, dx);
}

TEST_F(RefSwitchesTest, DropoutIsItsOwnGradient) {
  const Dropout which{.probability = 0.3, .seed = 5, .stream = 9, .first_row = 2};
  Matrix x = random(4, 11);
  Matrix dy = random(4, 11);
  Matrix y = zeros(4, 11);
  const auto f = [&] {
    ops_->dropout(which, x.view(), y.view(), false);
    return inner_product(y.view(), dy.view());
  };
  Matrix dx = zeros(4, 11);
  ops_->dropout(which, dy.view(), dx.view(), false);
  expect_slope(f, x, dx);
  Matrix sum = random(4, 11);
  Matrix wanted = zeros(4, 11);
  for (std::int64_t i = 0; i < 44; ++i) {
    wanted.set(i, sum.get(i) + y.get(i));
  }
  ops_->dropout(which, x.view(), sum.view(), true);
  for (std::int64_t i = 0; i < 44; ++i) {
    EXPECT_DOUBLE_EQ(sum.get(i), wanted.get(i));
  }
}

TEST_F(RefSwitchesTest, DropoutTakesItsShareAndKeepsTheMean) {
  constexpr std::int64_t kRows = 200;
  constexpr std::int64_t kCols = 501;
  constexpr double kCount = static_cast<double>(kRows * kCols);
  Matrix x = zeros(kRows, kCols);
  ops_->fill(x.view(), 1.0);
  for (const double probability : {0.0, 0.05, 0.5, 0.9}) {
    Matrix y = zeros(kRows, kCols);
    ops_->dropout({.probability = probability, .seed = 1, .stream = 2}, x.view(), y.view(), false);
    double dropped = 0;
    double neighbours = 0;
    for (std::int64_t i = 0; i < kRows * kCols; ++i) {
      const bool zero = y.get(i) == 0.0;
      EXPECT_TRUE(zero || y.get(i) == 1.0 / (1.0 - probability));
      dropped += zero ? 1.0 : 0.0;
      neighbours += zero && i > 0 && y.get(i - 1) == 0.0 ? 1.0 : 0.0;
    }
    // Five standard deviations of a binomial; neighbours fall together no more often than by
    // chance.
    const auto near = [&](double chance) {
      return 5.0 * std::sqrt(chance * (1.0 - chance) / kCount);
    };
    EXPECT_NEAR(dropped / kCount, probability, near(probability));
    const double both = probability * probability;
    EXPECT_NEAR(neighbours / kCount, both, 2.0 * near(both));
  }
}

TEST_F(RefSwitchesTest, DropoutDependsOnSeedStreamAndRowAlone) {
  Matrix x = zeros(6, 40);
  ops_->fill(x.view(), 1.0);
  const auto mask = [&](const Dropout& which, std::int64_t rows) {
    Matrix y = zeros(rows, 40);
    ops_->dropout(which, x.view().row_range(0, rows), y.view(), false);
    std::vector<double> values;
    for (std::int64_t i = 0; i < rows * 40; ++i) {
      values.push_back(y.get(i));
    }
    return values;
  };
  const Dropout which{.probability = 0.5, .seed = 3, .stream = 4};
  const std::vector<double> whole = mask(which, 6);
  EXPECT_EQ(mask(which, 6), whole);
  Dropout later = which;
  later.first_row = 4;
  EXPECT_EQ(mask(later, 2), std::vector<double>(whole.begin() + 160, whole.end()));
  Dropout other = which;
  other.seed = 5;
  EXPECT_NE(mask(other, 6), whole);
  other = which;
  other.stream = 5;
  EXPECT_NE(mask(other, 6), whole);
}

TEST_F(RefSwitchesTest, Scales) {
  Matrix x = random(2, 3);
  Matrix y = zeros(2, 3);
  ops_->scale(-0.5, x.view(), y.view());
  for (std::int64_t i = 0; i < 6; ++i) {
    EXPECT_EQ(y.get(i), -0.5 * x.get(i));
  }
  ops_->scale(2.0, x.view(), x.view());
  EXPECT_EQ(x.get(0), -4.0 * y.get(0));
}

}  // namespace
}  // namespace tunebench::engine
