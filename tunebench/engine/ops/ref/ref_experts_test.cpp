// Mixtures of experts: what each operation makes, and each gradient against central differences.
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

/// Memory of the visits of some tokens.
struct VisitMemory {
  VisitMemory(std::int64_t tokens, std::int64_t count, std::int64_t chosen)
      : experts(tokens, chosen, DType::I32),
        places(tokens, chosen, DType::I32),
        order(1, tokens * chosen, DType::I32),
        begins(1, count + 1, DType::I32) {}
  Visits view() { return {experts.view(), places.view(), order.view(), begins.view()}; }
  Matrix experts;
  Matrix places;
  Matrix order;
  Matrix begins;
};

std::vector<std::int32_t> numbers(const View& view) {
  return {view.i32(), view.i32() + view.elements()};
}

class RefExpertsTest : public testing::Test {
 protected:
  static Matrix zeros(std::int64_t rows, std::int64_t cols) { return {rows, cols, DType::F64}; }
  Matrix random(std::int64_t rows, std::int64_t cols, double deviation = 1.0) {
    return Matrix::normal(rows, cols, DType::F64, ++seed_, deviation);
  }
  void copy(Matrix& from, Matrix& to) { ops_->copy(from.view(), to.view()); }
  void expect_slope(const std::function<double()>& f, Matrix& value, Matrix& gradient) {
    EXPECT_LT(slope_error(f, value.view(), gradient.view(), ++seed_), 1e-7);
  }

  std::unique_ptr<Ops> ops_ = make_ref_ops(DType::F64);
  std::uint64_t seed_ = 40;
};

TEST_F(RefExpertsTest, ChoosesTheLikeliestAndPutsVisitsInOrder) {
  Matrix logits = zeros(3, 4);
  const std::vector<double> wanted = {0, 3, 1, 2, 5, 0, 0, 5, 1, 1, 1, 1};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    logits.set(static_cast<std::int64_t>(i), wanted[i]);
  }
  VisitMemory memory(3, 4, 2);
  const Visits visits = memory.view();
  Matrix weights = zeros(1, 6);
  ops_->choose_experts(logits.view(), true, weights.view(), visits);
  // Of equal ones the first.
  EXPECT_EQ(numbers(visits.experts), (std::vector<std::int32_t>{1, 3, 0, 3, 0, 1}));
  EXPECT_EQ(numbers(visits.begins), (std::vector<std::int32_t>{0, 2, 4, 4, 6}));
  EXPECT_EQ(numbers(visits.tokens), (std::vector<std::int32_t>{1, 2, 0, 2, 0, 1}));
  EXPECT_EQ(numbers(visits.places), (std::vector<std::int32_t>{2, 4, 0, 5, 1, 3}));
  const double first = 1.0 / (1.0 + std::exp(-1.0));
  EXPECT_DOUBLE_EQ(weights.get(2), first);
  EXPECT_DOUBLE_EQ(weights.get(4), 1.0 - first);
  EXPECT_DOUBLE_EQ(weights.get(0), 0.5);
  EXPECT_DOUBLE_EQ(logits.get(8), 0.25);  // a probability now
}

TEST_F(RefExpertsTest, ChoosesDistinctExpertsEvenOfNoNumbers) {
  Matrix logits = zeros(2, 3);
  for (std::int64_t i = 0; i < 6; ++i) {
    logits.set(i, i == 4 ? 1.0 : std::numeric_limits<double>::quiet_NaN());
  }
  VisitMemory memory(2, 3, 3);
  Matrix weights = zeros(1, 6);
  ops_->choose_experts(logits.view(), true, weights.view(), memory.view());
  EXPECT_EQ(numbers(memory.begins.view()), (std::vector<std::int32_t>{0, 2, 4, 6}));
}

TEST_F(RefExpertsTest, RouterGradientsMatchSlopes) {
  for (const bool renormalise : {true, false}) {
    for (const bool pulled : {true, false}) {
      for (const std::int64_t chosen : {1, 2, 5}) {
        constexpr std::int64_t kTokens = 6;
        const std::vector<std::int32_t> lengths = {3, 1};
        const RealTokens real{{2, 3}, lengths};
        Matrix logits = random(kTokens, 5);
        Matrix probabilities = zeros(kTokens, 5);
        Matrix weights = zeros(1, kTokens * chosen);
        Matrix dweights = random(1, kTokens * chosen);
        Matrix pull = random(1, 5);
        VisitMemory memory(kTokens, 5, chosen);
        const auto f = [&] {
          copy(logits, probabilities);
          ops_->choose_experts(probabilities.view(), renormalise, weights.view(), memory.view());
          double sum = inner_product(weights.view(), dweights.view());
          for (std::int64_t t = 0; pulled && t < kTokens; ++t) {
            if (real.contains(t)) {
              sum += inner_product(probabilities.view().row_range(t, 1), pull.view());
            }
          }
          return sum;
        };
        static_cast<void>(f());
        Matrix dlogits = random(kTokens, 5);
        ops_->choose_experts_backward(
            dweights.view(), probabilities.view(), memory.view(), renormalise,
            pulled ? RouterPull{pull.view(), real} : RouterPull{}, dlogits.view());
        if (renormalise && chosen == 1 && !pulled) {
          EXPECT_LT(ops_->sum_squares(dlogits.view()), 1e-25);  // the weight is always 1
        } else {
          expect_slope(f, logits, dlogits);
        }
      }
    }
  }
}

TEST_F(RefExpertsTest, BalanceIsWhatTransformersComputesAndItsGradientMatchesSlopes) {
  constexpr std::int64_t kTokens = 6;
  const std::vector<std::int32_t> lengths = {3, 2};
  const RealTokens real{{2, 3}, lengths};
  EXPECT_EQ(real.count(), 5);
  Matrix logits = random(kTokens, 4);
  Matrix weights = zeros(1, kTokens * 2);
  VisitMemory memory(kTokens, 4, 2);
  ops_->choose_experts(logits.view(), true, weights.view(), memory.view());
  Matrix probabilities = zeros(kTokens, 4);
  copy(logits, probabilities);
  Matrix load = zeros(2, 4);
  Matrix slope = zeros(1, 4);
  const auto f = [&] {
    ops_->fill(load.view(), 0.0);
    for (int layer = 0; layer < 2; ++layer) {
      ops_->add_expert_load(probabilities.view(), memory.view(), real, load.view());
    }
    return 0.3 * ops_->expert_balance(load.view(), 10, 0.3, slope.view());
  };
  const double loss = f();
  double wanted = 0;
  for (std::int64_t e = 0; e < 4; ++e) {
    double visits = 0;
    double mean = 0;
    for (const std::int64_t t : {0, 1, 2, 3, 4}) {
      visits += static_cast<double>(memory.view().experts.i32()[2 * t] == e) +
                static_cast<double>(memory.view().experts.i32()[2 * t + 1] == e);
      mean += probabilities.get(4 * t + e);
    }
    wanted += 4.0 * (visits / 5.0) * (mean / 5.0);
  }
  EXPECT_NEAR(loss, 0.3 * wanted, 1e-12);
  Matrix gradient = zeros(kTokens, 4);
  for (std::int64_t i = 0; i < 20; ++i) {
    gradient.set(i, 2.0 * slope.get(i % 4));  // the probabilities stand in both layers
  }
  expect_slope(f, probabilities, gradient);
  EXPECT_EQ(ops_->expert_balance(load.view(), 0, 1.0, slope.view()), 0.0);
  EXPECT_EQ(slope.get(0), 0.0);
}

TEST_F(RefExpertsTest, ProductsAndTheirGradientsMatchSlopes) {
  constexpr std::int64_t kTokens = 7;
  Matrix logits = random(kTokens, 4);
  for (std::int64_t t = 0; t < kTokens; ++t) {
    logits.set(4 * t + 2, -9.0);  // nobody visits the third
  }
  Matrix weights = zeros(1, kTokens * 2);
  VisitMemory memory(kTokens, 4, 2);
  const Visits visits = memory.view();
  ops_->choose_experts(logits.view(), true, weights.view(), visits);
  Matrix x = random(kTokens * 2, 3);
  Matrix w = random(4 * 5, 3);
  Matrix y = zeros(kTokens * 2, 5);
  Matrix dy = random(kTokens * 2, 5);
  const auto f = [&] {
    ops_->expert_products(true, x.view(), w.view(), visits, y.view());
    return inner_product(y.view(), dy.view());
  };
  static_cast<void>(f());
  Matrix dx = random(kTokens * 2, 3);
  ops_->expert_products(false, dy.view(), w.view(), visits, dx.view());
  Matrix dw = random(4 * 5, 3);
  ops_->expert_weight_gradients(dy.view(), x.view(), visits, dw.view(), false);
  expect_slope(f, x, dx);
  expect_slope(f, w, dw);
  EXPECT_EQ(ops_->sum_squares(dw.view().row_range(10, 5)), 0.0);

  Matrix twice = zeros(4 * 5, 3);
  copy(dw, twice);
  ops_->expert_weight_gradients(dy.view(), x.view(), visits, twice.view(), true);
  ops_->add(dw.view(), dw.view());
  EXPECT_LT(relative_difference(twice.view(), dw.view()), 1e-15);
}

TEST_F(RefExpertsTest, SumOfVisitsIsTheTransposeOfGathering) {
  Matrix logits = random(5, 4);
  Matrix weights = zeros(1, 15);
  VisitMemory memory(5, 4, 3);
  ops_->choose_experts(logits.view(), true, weights.view(), memory.view());
  Matrix x = random(5, 6);
  Matrix in = random(15, 6);
  Matrix gathered = zeros(15, 6);
  Matrix out = random(5, 6);
  ops_->gather_rows(x.view(), numbers(memory.order.view()), gathered.view());
  ops_->sum_visits(in.view(), memory.view(), out.view(), false);
  EXPECT_NEAR(inner_product(gathered.view(), in.view()), inner_product(x.view(), out.view()),
              1e-12);
  Matrix more = zeros(5, 6);
  copy(out, more);
  ops_->sum_visits(in.view(), memory.view(), more.view(), true);
  ops_->add(out.view(), out.view());
  EXPECT_LT(relative_difference(more.view(), out.view()), 1e-15);
}

TEST_F(RefExpertsTest, WeightedGatesMatchSlopesAlsoInPlace) {
  for (const Activation activation : {Activation::Silu, Activation::GeluTanh, Activation::Gelu}) {
    Matrix gate_up = random(4, 10);
    Matrix weights = random(1, 4);
    Matrix dh = random(4, 5);
    Matrix h = zeros(4, 5);
    const auto f = [&] {
      ops_->weighted_gated(activation, gate_up.view(), weights.view(), h.view());
      return inner_product(h.view(), dh.view());
    };
    static_cast<void>(f());
    Matrix dgate_up = random(4, 10);
    Matrix dweights = random(1, 4);
    ops_->weighted_gated_backward(activation, gate_up.view(), weights.view(), dh.view(),
                                  dgate_up.view(), dweights.view());
    expect_slope(f, gate_up, dgate_up);
    expect_slope(f, weights, dweights);
    ops_->weighted_gated_backward(activation, gate_up.view(), weights.view(), dh.view(),
                                  gate_up.view(), dweights.view());
    EXPECT_EQ(relative_difference(gate_up.view(), dgate_up.view()), 0);
  }
}

TEST_F(RefExpertsTest, SigmoidGradientMatchesSlopesAlsoInPlace) {
  Matrix x = random(3, 5, 2.0);
  Matrix dy = random(3, 5);
  Matrix y = zeros(3, 5);
  const auto f = [&] {
    ops_->sigmoid(x.view(), y.view());
    return inner_product(y.view(), dy.view());
  };
  static_cast<void>(f());
  Matrix dx = zeros(3, 5);
  copy(dy, dx);
  ops_->sigmoid_backward(y.view(), dx.view(), dx.view());
  expect_slope(f, x, dx);
}

}  // namespace
}  // namespace tunebench::engine
