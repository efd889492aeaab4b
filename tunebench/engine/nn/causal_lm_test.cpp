#include "tunebench/engine/nn/causal_lm.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/nn/test_model.h"

namespace tunebench::engine {
namespace {

/// One model and batch whose gradients are compared with slopes.
struct Case {
  std::string name;
  model::ModelSpec spec = test_spec();
  data::MicroBatch batch = test_batch(test_spec(), 2, 7, 3);
  Recompute recompute = Recompute::None;
};

void mask(data::MicroBatch& batch, std::int64_t sample, std::int64_t first, std::int64_t end) {
  for (std::int64_t t = first; t < end; ++t) {
    batch.labels[static_cast<std::size_t>(sample * batch.length + t)] = data::kIgnoredLabel;
  }
}

using AddCase = std::function<Case&(std::string)>;

void add_scaled_positions(const AddCase& add) {
  using Type = model::RopeScaling::Type;
  // The batch is longer than the trained range.
  model::ModelSpec& dynamic = add("DynamicRope").spec;
  dynamic.max_positions = 4;
  dynamic.rope_scaling = {.type = Type::Dynamic, .factor = 2.0, .original_max_positions = 4};
  add("YarnRope").spec.rope_scaling = {.type = Type::Yarn,
                                       .factor = 4.0,
                                       .original_max_positions = 8,
                                       .amplitude = 1.2,
                                       .beta_fast = 0.9,
                                       .beta_slow = 0.1};
  add("LongRope").spec.rope_scaling = {.type = Type::LongRope,
                                       .factor = 4.0,
                                       .original_max_positions = 4,
                                       .amplitude = 1.3,
                                       .short_factors = {1.0, 1.5},
                                       .long_factors = {2.0, 5.0}};
  add("PartialRotation").spec.rotary_width = 2;
  add("NoPositions").spec.positions = model::PositionKind::None;
  add("LearnedPositions").spec.positions = model::PositionKind::Learned;
  add("Alibi").spec.positions = model::PositionKind::Alibi;
}

void add_switches(const AddCase& add) {
  add("Window").spec.window = 3;
  model::ModelSpec& local = add("LocalAndGlobalLayers").spec;
  local.window = 2;
  local.local_layers = {true, false};
  local.local_rope_theta = 50.0;
  model::ModelSpec& scaled = add("Multipliers").spec;
  scaled.embedding_scale = 3.0;
  scaled.residual_scale = 0.3;
  scaled.logit_divisor = 2.5;
  scaled.attention_scale = 0.9;
  scaled.tied_head = true;
  add("NormOfHeads").spec.qk_norm = true;
  model::ModelSpec& gemma = add("PostNormsAndCaps").spec;
  gemma.norm = model::NormKind::RmsPlusOne;
  gemma.post_norms = true;
  gemma.qk_norm = true;
  gemma.score_cap = 1.5;
  gemma.logit_cap = 2.0;
  gemma.activation = model::Activation::GeluTanh;
  model::ModelSpec& bigcode = add("LayerNormWithoutGate").spec;
  bigcode.norm = model::NormKind::Layer;
  bigcode.gated_mlp = false;
  bigcode.activation = model::Activation::Gelu;
  bigcode.mlp_bias = true;
  model::ModelSpec& bloom = add("InterleavedHeadsAndEmbeddingNorm").spec;
  bloom.norm = model::NormKind::Layer;
  bloom.embedding_norm = true;
  bloom.kv_heads = 4;
  bloom.interleaved_qkv = true;
  bloom.positions = model::PositionKind::Alibi;
  bloom.tied_head = true;
}

model::ModelSpec& with_experts(model::ModelSpec& spec) {
  spec.model_type = "mixtral";
  spec.experts = {.count = 4, .chosen = 2};
  return spec;
}

void add_mixtures(const AddCase& add) {
  with_experts(add("Experts").spec);
  with_experts(add("ExpertsAsProbable").spec).experts.renormalise = false;
  with_experts(add("AllExperts").spec).experts.chosen = 4;
  model::ModelSpec& one = with_experts(add("OneExpert").spec);
  one.experts = {.count = 3, .chosen = 1, .renormalise = false};
  Case& balanced = add("RouterLoss");
  with_experts(balanced.spec).experts.loss_share = 0.7;
  // Padding takes no part in it, masked tokens do.
  balanced.batch.lengths = {7, 4};
  mask(balanced.batch, 0, 0, 3);
  mask(balanced.batch, 1, 4, 7);
  model::ModelSpec& shared = add("SharedExpert").spec;
  shared.model_type = "granitemoeshared";
  shared.experts = {.count = 3, .chosen = 2, .loss_share = 0.1, .shared = 6};
  shared.residual_scale = 0.4;
  model::ModelSpec& gated = add("GatedSharedExpert").spec;
  gated.model_type = "qwen2_moe";
  gated.experts = {.count = 3, .chosen = 2, .renormalise = false, .shared = 6, .shared_gate = true};
  model::ModelSpec& olmoe = add("NormOfAllHeads").spec;
  olmoe.model_type = "olmoe";
  olmoe.qk_norm = true;
  olmoe.whole_qk_norm = true;
  olmoe.experts = {.count = 3, .chosen = 2};
  for (const Recompute rung : kRecomputeLadder) {
    Case& with_rung = add("ExpertsRecompute_" + std::string(recompute_name(rung)));
    with_rung.recompute = rung;
    with_rung.spec.model_type = "qwen2_moe";
    with_rung.spec.layers = 3;
    with_rung.spec.experts = {
        .count = 4, .chosen = 2, .loss_share = 0.2, .shared = 6, .shared_gate = true};
  }
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](std::string name) -> Case& {
    Case& added = all.emplace_back();
    added.name = std::move(name);
    return added;
  };
  add("GroupedHeads");
  add("OneKeyHead").spec.kv_heads = 1;
  add("AsManyKeyHeads").spec.kv_heads = 4;
  add("TiedHead").spec.tied_head = true;
  add("QkvBias").spec.qkv_bias = true;
  add("OutputBias").spec.output_bias = true;
  add("MlpBias").spec.mlp_bias = true;
  add("OneLayer").spec.layers = 1;
  add("LinearRope").spec.rope_scaling = {.type = model::RopeScaling::Type::Linear, .factor = 3.0};
  add("Llama3Rope").spec.rope_scaling = {
      .type = model::RopeScaling::Type::Llama3, .factor = 8.0, .original_max_positions = 8};
  add_scaled_positions(add);
  add_switches(add);
  add_mixtures(add);
  mask(add("MaskedPrompt").batch, 0, 0, 4);
  Case& padded = add("PaddedBatch");
  mask(padded.batch, 1, 4, 7);
  std::fill(padded.batch.ids.begin() + 11, padded.batch.ids.end(), 0);
  for (const Recompute rung : kRecomputeLadder) {
    Case& with_rung = add("Recompute_" + std::string(recompute_name(rung)));
    with_rung.recompute = rung;
    with_rung.spec.qkv_bias = true;
    with_rung.spec.layers = 3;
    with_rung.spec.post_norms = true;
    with_rung.spec.qk_norm = true;
    with_rung.spec.window = 3;
  }
  return all;
}

class CausalLMGradientTest : public testing::TestWithParam<Case> {};

TEST_P(CausalLMGradientTest, MatchSlopesForEveryTensor) {
  const Case& param = GetParam();
  TestModel test(param.spec, {.largest = {2, 7}, .recompute = param.recompute}, DType::F64);
  const auto loss = [&] { return test.forward_backward(param.batch); };
  static_cast<void>(loss());
  std::uint64_t seed = 100;
  for (const Parameters::Named& named : test.parameters->named()) {
    const View gradient = named.parameter.gradient;
    Matrix kept(gradient.rows, gradient.cols, DType::F64);
    test.ops->copy(gradient, kept.view());
    if (named.name.find(".experts.") == std::string::npos) {  // nobody may have visited one
      EXPECT_GT(inner_product(kept.view(), kept.view()), 0) << named.name;
    }
    EXPECT_LT(slope_error(loss, named.parameter.value, kept.view(), ++seed), 1e-7) << named.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Switches, CausalLMGradientTest, testing::ValuesIn(cases()),
                         [](const testing::TestParamInfo<Case>& test) { return test.param.name; });

TEST(CausalLMTest, EveryRungGivesTheSameBits) {
  model::ModelSpec mixture = test_spec();
  mixture.model_type = "qwen2_moe";
  mixture.experts = {.count = 5, .chosen = 2, .loss_share = 0.2, .shared = 6, .shared_gate = true};
  for (model::ModelSpec spec : {test_spec(), mixture}) {
    spec.layers = 4;
    const data::MicroBatch batch = test_batch(spec, 3, 9, 5);
    for (const DType dtype : {DType::F32, DType::F64}) {
      TestModel kept(spec, {.largest = {3, 9}}, dtype);
      const double loss = kept.forward_backward(batch);
      for (const Recompute rung : kRecomputeLadder) {
        TestModel rebuilt(spec, {.largest = {3, 9}, .recompute = rung}, dtype);
        EXPECT_EQ(rebuilt.forward_backward(batch), loss) << recompute_name(rung);
        EXPECT_EQ(rebuilt.gradient_bytes(), kept.gradient_bytes()) << recompute_name(rung);
      }
    }
  }
}

TEST(CausalLMTest, FrequenciesFollowTheLengthOfEachBatch) {
  for (const auto type : {model::RopeScaling::Type::Dynamic, model::RopeScaling::Type::LongRope}) {
    model::ModelSpec spec = test_spec();
    spec.max_positions = 6;
    spec.rope_scaling = {.type = type,
                         .factor = 2.0,
                         .original_max_positions = 6,
                         .short_factors = {1.0, 1.5},
                         .long_factors = {2.0, 5.0}};
    TestModel roomy(spec, {.largest = {2, 12}}, DType::F32);
    for (const std::int64_t length : {5, 12, 9, 6, 12}) {
      const data::MicroBatch batch = test_batch(spec, 2, length, 3);
      TestModel exact(spec, {.largest = {2, length}}, DType::F32);
      EXPECT_EQ(roomy.forward_backward(batch), exact.forward_backward(batch)) << length;
      EXPECT_EQ(roomy.gradient_bytes(), exact.gradient_bytes()) << length;
    }
  }
}

TEST(CausalLMTest, HarderRungsNeedLessMemory) {
  model::ModelSpec spec = test_spec();
  spec.layers = 8;
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  for (const Recompute rung : kRecomputeLadder) {
    const TestModel test(spec, {.largest = {2, 20}, .recompute = rung}, DType::F32);
    EXPECT_LT(test.planned_high_water(), before) << recompute_name(rung);
    before = test.planned_high_water();
  }
}

TEST(CausalLMTest, UsesExactlyTheMemoryThatADryRunCounted) {
  for (const Recompute rung : kRecomputeLadder) {
    TestModel test(test_spec(), {.largest = {2, 7}, .recompute = rung}, DType::F32);
    static_cast<void>(test.forward_backward(test_batch(test_spec(), 2, 7, 3)));
    EXPECT_EQ(test.high_water(), test.planned_high_water()) << recompute_name(rung);
  }
}

TEST(CausalLMTest, ABatchShorterThanPlannedGivesTheSameBits) {
  const data::MicroBatch batch = test_batch(test_spec(), 1, 5, 11);
  for (const Recompute rung : kRecomputeLadder) {
    TestModel roomy(test_spec(), {.largest = {3, 12}, .recompute = rung}, DType::F32);
    TestModel exact(test_spec(), {.largest = {1, 5}, .recompute = rung}, DType::F32);
    static_cast<void>(roomy.forward_backward(test_batch(test_spec(), 3, 12, 1)));
    EXPECT_EQ(roomy.forward_backward(batch), exact.forward_backward(batch));
    EXPECT_EQ(roomy.gradient_bytes(), exact.gradient_bytes()) << recompute_name(rung);
  }
}

TEST(CausalLMTest, AHeadInChunksEqualsAWholeOne) {
  data::MicroBatch batch = test_batch(test_spec(), 3, 9, 5);
  mask(batch, 1, 2, 5);
  TestModel whole(test_spec(), {.largest = {3, 9}}, DType::F32);
  const double loss = whole.forward_backward(batch);
  for (const std::int64_t rows : {1, 5, 23}) {
    TestModel chunked(test_spec(), {.largest = {3, 9}, .chunk_rows = rows}, DType::F32);
    EXPECT_NEAR(chunked.forward_backward(batch), loss, 1e-6 * loss);
    EXPECT_LT(relative_difference(chunked.parameters->gradients(), whole.parameters->gradients()),
              1e-6)
        << rows;
  }
}

TEST(CausalLMTest, MicroBatchesAddUpToTheirSum) {
  for (const bool tied : {false, true}) {
    model::ModelSpec spec = test_spec();
    spec.tied_head = tied;
    const data::MicroBatch first = test_batch(spec, 1, 6, 21);
    const data::MicroBatch second = test_batch(spec, 1, 6, 22);
    data::MicroBatch both = first;
    both.samples = 2;
    both.ids.insert(both.ids.end(), second.ids.begin(), second.ids.end());
    both.labels.insert(both.labels.end(), second.labels.begin(), second.labels.end());

    TestModel test(spec, {.largest = {2, 6}}, DType::F64);
    const double loss = test.forward_backward(first) + test.forward_backward(second, true);
    TestModel together(spec, {.largest = {2, 6}}, DType::F64);
    EXPECT_NEAR(together.forward_backward(both), loss, 1e-12 * loss);
    EXPECT_LT(relative_difference(test.parameters->gradients(), together.parameters->gradients()),
              1e-13);
  }
}

TEST(CausalLMTest, OverwritesTheGradientsOfTheStepBefore) {
  for (const bool tied : {false, true}) {
    model::ModelSpec spec = test_spec();
    spec.tied_head = tied;
    TestModel test(spec, {.largest = {2, 6}}, DType::F32);
    static_cast<void>(test.forward_backward(test_batch(spec, 2, 6, 1)));
    const std::vector<std::byte> once = test.gradient_bytes();
    for (const Parameters::Named& named : test.parameters->named()) {
      test.ops->fill(named.parameter.gradient, std::nan(""));
    }
    static_cast<void>(test.forward_backward(test_batch(spec, 2, 6, 1)));
    EXPECT_EQ(test.gradient_bytes(), once);
  }
}

TEST(CausalLMTest, ABatchWithoutTrainedTokensHasNoLossAndZeroGradients) {
  for (const bool tied : {false, true}) {
    model::ModelSpec spec = test_spec();
    spec.tied_head = tied;
    data::MicroBatch batch = test_batch(spec, 2, 6, 1);
    TestModel test(spec, {.largest = {2, 6}}, DType::F32);
    static_cast<void>(test.forward_backward(batch));
    mask(batch, 0, 0, 12);
    EXPECT_EQ(test.forward_backward(batch), 0.0);
    EXPECT_EQ(test.ops->sum_squares(test.parameters->gradients()), 0.0);
  }
}

TEST(CausalLMTest, WhatStandsInPaddingChangesNothing) {
  data::MicroBatch batch = test_batch(test_spec(), 2, 6, 1);
  mask(batch, 1, 3, 6);
  TestModel test(test_spec(), {.largest = {2, 6}}, DType::F32);
  const double loss = test.forward_backward(batch);
  const std::vector<std::byte> gradients = test.gradient_bytes();
  for (std::size_t t = 10; t < 12; ++t) {
    batch.ids[t] = (batch.ids[t] + 5) % 13;
  }
  EXPECT_EQ(test.forward_backward(batch), loss);
  EXPECT_EQ(test.gradient_bytes(), gradients);
}

TEST(CausalLMTest, ScalesGradientsButNotTheLoss) {
  const data::MicroBatch batch = test_batch(test_spec(), 2, 6, 1);
  TestModel test(test_spec(), {.largest = {2, 6}}, DType::F64);
  const double loss = test.forward_backward(batch, false, 0.125);
  const double small = test.ops->sum_squares(test.parameters->gradients());
  EXPECT_EQ(test.forward_backward(batch), loss);
  EXPECT_DOUBLE_EQ(test.ops->sum_squares(test.parameters->gradients()), 64.0 * small);
}

TEST(CausalLMTest, LogitsGiveTheLossOfTraining) {
  const data::MicroBatch batch = test_batch(test_spec(), 2, 6, 1);
  TestModel test(test_spec(), {.largest = {2, 6}}, DType::F64);
  Matrix logits(12, 13, DType::F64);
  test.model->logits(*test.ops, batch, logits.view());
  const double loss = test.ops->cross_entropy(logits.view(), batch.labels, 1.0);
  EXPECT_NEAR(test.forward_backward(batch), loss, 1e-12);
}

TEST(CausalLMTest, RefusesABatchLargerThanPlanned) {
  TestModel test(test_spec(), {.largest = {2, 6}}, DType::F32);
  EXPECT_THROW(static_cast<void>(test.forward_backward(test_batch(test_spec(), 3, 6, 1))), Error);
  EXPECT_THROW(static_cast<void>(test.forward_backward(test_batch(test_spec(), 2, 7, 1))), Error);
}

}  // namespace
}  // namespace tunebench::engine
