#include "tunebench/engine/nn/experts.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/nn/block_spec.h"
#include "tunebench/engine/nn/decoder_block.h"
#include "tunebench/engine/nn/test_model.h"

namespace tunebench::engine {
namespace {

constexpr std::int64_t kRows = 9;

/// The mixture of one block in double, alone.
class ExpertsTest : public testing::Test {
 protected:
  void make(std::int64_t count, std::int64_t chosen, bool renormalise) {
    spec_.experts = {.count = count, .chosen = chosen, .renormalise = renormalise};
    arena_ = Arena::reserve(1 << 20, 1 << 18);
    parameters_ = std::make_unique<Parameters>(spec_, DType::F64, arena_);
    std::uint64_t stream = 0;
    for (const Parameters::Named& named : parameters_->named()) {
      const View value = named.parameter.value;
      Matrix drawn = Matrix::normal(value.rows, value.cols, DType::F64, ++stream, 0.5);
      ops_->copy(drawn.view(), value);
    }
    const BlockSpec block = make_block_spec(spec_, 0, {});
    experts_ = std::make_unique<Experts>(block.experts, own());
    saved_ = DecoderBlock::take_kept(block, kRows, DType::F64, Recompute::None, {}, arena_).experts;
  }
  [[nodiscard]] const BlockParameters& own() const { return parameters_->blocks()[0]; }

  /// What expert `expert` makes of all rows.
  Matrix feed_forward(std::int64_t expert, View x) {
    const std::int64_t inner = spec_.feed_forward;
    Matrix gate_up(kRows, 2 * inner, DType::F64);
    Matrix h(kRows, inner, DType::F64);
    Matrix y(kRows, spec_.width, DType::F64);
    ops_->gemm(false, true, x, own().experts_gate_up.value.row_range(expert * 2 * inner, 2 * inner),
               gate_up.view(), false);
    ops_->gated(Activation::Silu, gate_up.view(), h.view());
    ops_->gemm(false, true, h.view(),
               own().experts_down.value.row_range(expert * spec_.width, spec_.width), y.view(),
               false);
    return y;
  }

  model::ModelSpec spec_ = [] {
    model::ModelSpec spec = test_spec();
    spec.model_type = "granitemoe";
    spec.layers = 1;
    return spec;
  }();
  std::unique_ptr<Ops> ops_ = make_ref_ops(DType::F64);
  Arena arena_ = Arena::plan_only();
  std::unique_ptr<Parameters> parameters_;
  std::unique_ptr<Experts> experts_;
  Experts::Saved saved_;
};

TEST_F(ExpertsTest, AllExpertsAreADenseSumWeightedBySoftmax) {
  for (const bool renormalise : {true, false}) {
    make(4, 4, renormalise);
    Matrix x = Matrix::normal(kRows, spec_.width, DType::F64, 90);
    Matrix y(kRows, spec_.width, DType::F64);
    experts_->forward({*ops_, arena_}, x.view(), saved_, y.view(), false);

    Matrix logits(kRows, 4, DType::F64);
    ops_->gemm(false, true, x.view(), own().router.value, logits.view(), false);
    Matrix wanted(kRows, spec_.width, DType::F64);
    for (std::int64_t e = 0; e < 4; ++e) {
      Matrix one = feed_forward(e, x.view());
      for (std::int64_t i = 0; i < kRows * spec_.width; ++i) {
        const std::int64_t t = i / spec_.width;
        double total = 0;
        for (std::int64_t other = 0; other < 4; ++other) {
          total += std::exp(logits.get(4 * t + other));
        }
        wanted.set(i, wanted.get(i) + std::exp(logits.get(4 * t + e)) / total * one.get(i));
      }
    }
    EXPECT_LT(relative_difference(y.view(), wanted.view()), 1e-14);
  }
}

TEST_F(ExpertsTest, TheOnlyExpertIsAPlainFeedForward) {
  make(1, 1, false);
  Matrix x = Matrix::normal(kRows, spec_.width, DType::F64, 90);
  Matrix y(kRows, spec_.width, DType::F64);
  const Exec exec{*ops_, arena_};
  experts_->forward(exec, x.view(), saved_, y.view(), false);
  Matrix wanted = feed_forward(0, x.view());
  EXPECT_EQ(relative_difference(y.view(), wanted.view()), 0.0);

  BlockParameters plain;
  Matrix dgate_up(2 * spec_.feed_forward, spec_.width, DType::F64);
  Matrix ddown(spec_.width, spec_.feed_forward, DType::F64);
  plain.gate_up = {own().experts_gate_up.value, dgate_up.view(), {{0, dgate_up.view()}}};
  plain.down = {own().experts_down.value, ddown.view(), {{0, ddown.view()}}};
  const Mlp mlp({.feed_forward = spec_.feed_forward}, plain);
  Matrix gate_up(kRows, 2 * spec_.feed_forward, DType::F64);
  Matrix h(kRows, spec_.feed_forward, DType::F64);
  const Mlp::Saved mlp_saved{gate_up.view(), h.view(), {}};
  mlp.forward(exec, x.view(), mlp_saved, y.view());
  Matrix dy = Matrix::normal(kRows, spec_.width, DType::F64, 91);
  Matrix dx(kRows, spec_.width, DType::F64);
  Matrix mlp_dx(kRows, spec_.width, DType::F64);
  mlp.backward(exec, dy.view(), x.view(), mlp_saved, mlp_dx.view());
  experts_->backward(exec, dy.view(), x.view(), saved_, {}, dx.view(), false);
  EXPECT_LT(relative_difference(dx.view(), mlp_dx.view()), 1e-15);
  EXPECT_LT(relative_difference(own().experts_gate_up.gradient, dgate_up.view()), 1e-15);
  EXPECT_LT(relative_difference(own().experts_down.gradient, ddown.view()), 1e-15);
  EXPECT_EQ(ops_->sum_squares(own().router.gradient), 0.0);
}

TEST_F(ExpertsTest, WhatTheOthersHoldDoesNotMatter) {
  make(6, 2, true);
  // Nobody visits the last: its weights are not numbers.
  Matrix x = Matrix::normal(kRows, spec_.width, DType::F64, 90);
  for (std::int64_t t = 0; t < kRows; ++t) {
    x.set(t * spec_.width, 1.0);
  }
  const View last = own().router.value.row_range(5, 1);
  ops_->fill(last, 0.0);
  Matrix::set_element(last, 0, -100.0);
  const std::int64_t inner = 2 * spec_.feed_forward;
  ops_->fill(own().experts_gate_up.value.row_range(5 * inner, inner), std::nan(""));
  ops_->fill(own().experts_down.value.row_range(5 * spec_.width, spec_.width), std::nan(""));
  Matrix y(kRows, spec_.width, DType::F64);
  Matrix dx(kRows, spec_.width, DType::F64);
  const Exec exec{*ops_, arena_};
  experts_->forward(exec, x.view(), saved_, y.view(), false);
  experts_->backward(exec, y.view(), x.view(), saved_, {}, dx.view(), false);
  EXPECT_TRUE(std::isfinite(ops_->sum_squares(y.view())));
  EXPECT_TRUE(std::isfinite(ops_->sum_squares(dx.view())));
  EXPECT_TRUE(std::isfinite(ops_->sum_squares(own().experts_gate_up.gradient)));
}

TEST_F(ExpertsTest, AddsToWhatIsThereWhenAskedTo) {
  make(4, 2, true);
  const Exec exec{*ops_, arena_};
  Matrix x = Matrix::normal(kRows, spec_.width, DType::F64, 90);
  Matrix dy = Matrix::normal(kRows, spec_.width, DType::F64, 91);
  Matrix y(kRows, spec_.width, DType::F64);
  Matrix sum = Matrix::normal(kRows, spec_.width, DType::F64, 92);
  Matrix dx(kRows, spec_.width, DType::F64);
  Matrix dsum = Matrix::normal(kRows, spec_.width, DType::F64, 92);
  Matrix before = Matrix::normal(kRows, spec_.width, DType::F64, 92);
  experts_->forward(exec, x.view(), saved_, y.view(), false);
  experts_->backward(exec, dy.view(), x.view(), saved_, {}, dx.view(), false);
  experts_->forward(exec, x.view(), saved_, sum.view(), true);
  experts_->backward(exec, dy.view(), x.view(), saved_, {}, dsum.view(), true);
  ops_->add(before.view(), y.view());
  ops_->add(before.view(), dx.view());
  EXPECT_LT(relative_difference(sum.view(), y.view()), 1e-14);
  EXPECT_LT(relative_difference(dsum.view(), dx.view()), 1e-14);
}

}  // namespace
}  // namespace tunebench::engine
