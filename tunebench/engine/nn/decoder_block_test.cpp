#include "tunebench/engine/nn/decoder_block.h"

#include <cstdint>
#include <memory>

#include <gtest/gtest.h>

#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/nn/block_spec.h"
#include "tunebench/engine/nn/rope_table.h"
#include "tunebench/engine/nn/test_model.h"

namespace tunebench::engine {
namespace {

constexpr Sequences kSequences{.count = 2, .length = 5};
constexpr std::int64_t kTokens = 10;

/// One block in double, alone.
class DecoderBlockTest : public testing::Test {
 protected:
  DecoderBlockTest() {
    fill_rope_table(spec_, 0, table_.view());
    std::uint64_t stream = 0;
    for (const Parameters::Named& named : parameters_.named()) {
      const View value = named.parameter.value;
      Matrix drawn = Matrix::normal(value.rows, value.cols, DType::F64, ++stream, 0.5);
      ops_->copy(drawn.view(), value);
    }
  }

  [[nodiscard]] BlockSpec block_spec() {
    BlockSpec block = make_block_spec(spec_, 0, {table_.view(), table_.view()});
    block.attention.scoring.scale = 0.3;
    return block;
  }

  model::ModelSpec spec_ = [] {
    model::ModelSpec spec = test_spec();
    spec.layers = 1;
    spec.qkv_bias = true;
    return spec;
  }();
  std::unique_ptr<Ops> ops_ = make_ref_ops(DType::F64);
  Arena arena_ = Arena::reserve(1 << 20, 1 << 16);
  Parameters parameters_{spec_, DType::F64, arena_};
  Matrix table_{5, 4, DType::F64};
};

TEST_F(DecoderBlockTest, GradientsOfStreamAndDeltaMatchSlopes) {
  const DecoderBlock block(block_spec(), parameters_.blocks()[0]);
  const DecoderBlock::Saved saved =
      DecoderBlock::take_kept(block_spec(), kTokens, DType::F64, Recompute::None, {}, arena_);
  Matrix stream = Matrix::normal(kTokens, spec_.width, DType::F64, 50);
  Matrix delta_in = Matrix::normal(kTokens, spec_.width, DType::F64, 51);
  Matrix dstream = Matrix::normal(kTokens, spec_.width, DType::F64, 52);
  Matrix delta(kTokens, spec_.width, DType::F64);
  const Exec exec{*ops_, arena_};
  const Residual before{stream.view(), delta_in.view()};
  const auto f = [&] {
    block.forward(exec, kSequences, &before, saved, delta.view());
    return inner_product(saved.middle, dstream.view()) +
           inner_product(delta.view(), dstream.view());
  };
  static_cast<void>(f());
  Matrix gradient(kTokens, spec_.width, DType::F64);
  ops_->copy(dstream.view(), gradient.view());
  block.backward(exec, kSequences, saved, gradient.view());
  EXPECT_LT(slope_error(f, stream.view(), gradient.view(), 60), 1e-7);
  EXPECT_LT(slope_error(f, delta_in.view(), gradient.view(), 61), 1e-7);
}

TEST_F(DecoderBlockTest, MayLeaveItsDeltaWhereItFoundTheOneBefore) {
  const DecoderBlock block(block_spec(), parameters_.blocks()[0]);
  const DecoderBlock::Saved saved =
      DecoderBlock::take_kept(block_spec(), kTokens, DType::F64, Recompute::None, {}, arena_);
  Matrix stream = Matrix::normal(kTokens, spec_.width, DType::F64, 50);
  Matrix in_place = Matrix::normal(kTokens, spec_.width, DType::F64, 51);
  Matrix delta_in = Matrix::normal(kTokens, spec_.width, DType::F64, 51);
  Matrix apart(kTokens, spec_.width, DType::F64);
  const Exec exec{*ops_, arena_};
  const Residual before{stream.view(), delta_in.view()};
  block.forward(exec, kSequences, &before, saved, apart.view());
  const Residual same{stream.view(), in_place.view()};
  block.forward(exec, kSequences, &same, saved, in_place.view());
  EXPECT_EQ(relative_difference(in_place.view(), apart.view()), 0);
}

TEST_F(DecoderBlockTest, RefillRestoresEachDroppedActivation) {
  const DecoderBlock block(block_spec(), parameters_.blocks()[0]);
  const Exec exec{*ops_, arena_};
  Matrix delta(kTokens, spec_.width, DType::F64);
  Matrix input = Matrix::normal(kTokens, spec_.width, DType::F64, 50);
  const DecoderBlock::Saved whole =
      DecoderBlock::take_kept(block_spec(), kTokens, DType::F64, Recompute::None, {}, arena_);
  ops_->copy(input.view(), whole.input);
  block.forward(exec, kSequences, nullptr, whole, delta.view());
  for (const Recompute rung : kRecomputeLadder) {
    const DecoderBlock::Saved shared =
        DecoderBlock::take_shared(block_spec(), kTokens, DType::F64, rung, arena_);
    const DecoderBlock::Saved saved =
        DecoderBlock::take_kept(block_spec(), kTokens, DType::F64, rung, shared, arena_);
    ops_->copy(input.view(), saved.input);
    block.forward(exec, kSequences, nullptr, saved, delta.view());
    // Another block passes over what is shared.
    for (const View& view :
         {shared.input_norm, shared.input_stats, shared.attention.qkv, shared.attention.out,
          shared.attention.lse, shared.middle, shared.middle_norm, shared.middle_stats,
          shared.mlp.gate_up, shared.mlp.activation}) {
      ops_->fill(view, -1.0);
    }
    block.refill(exec, kSequences, rung, saved);
    EXPECT_EQ(relative_difference(saved.input_norm, whole.input_norm), 0);
    EXPECT_EQ(relative_difference(saved.attention.qkv, whole.attention.qkv), 0);
    EXPECT_EQ(relative_difference(saved.attention.out, whole.attention.out), 0);
    EXPECT_EQ(relative_difference(saved.attention.lse, whole.attention.lse), 0);
    EXPECT_EQ(relative_difference(saved.middle, whole.middle), 0);
    EXPECT_EQ(relative_difference(saved.middle_norm, whole.middle_norm), 0);
    EXPECT_EQ(relative_difference(saved.middle_stats, whole.middle_stats), 0);
    EXPECT_EQ(relative_difference(saved.mlp.gate_up, whole.mlp.gate_up), 0);
    EXPECT_EQ(relative_difference(saved.mlp.activation, whole.mlp.activation), 0);
  }
}

}  // namespace
}  // namespace tunebench::engine
