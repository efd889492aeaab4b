#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/model/model_family.h"
#include "tunebench/model/model_source.h"
#include "tunebench/model/parameter_groups.h"
#include "tunebench/model/test_folder.h"

namespace tunebench::model {
namespace {

using ::testing::HasSubstr;
using testing::m0_config;
using testing::message_of;
using testing::WarningCatcher;

Json config_of(const std::string& model_type) {
  Json config = m0_config().set("model_type", model_type).set("architectures", nullptr);
  if (model_type.starts_with("qwen")) {
    config.set("moe_intermediate_size", 12);
  }
  return config;
}

ModelSpec spec_of(const Json& config) {
  return parse_model_config(config, "config.json");
}

std::string refused(const Json& config) {
  return message_of([&] { spec_of(config); });
}

/// [4, 24, 16] as text; empty: there is no such tensor.
std::string shape_of(const ModelSpec& spec, std::string_view name) {
  for (const TensorShape& tensor : tensor_shapes(spec)) {
    if (tensor.name == name) {
      std::string text;
      for (const std::int64_t size : tensor.shape) {
        text += (text.empty() ? "[" : ", ") + std::to_string(size);
      }
      return text + "]";
    }
  }
  return "";
}

TEST(ExpertFamilies, MixtralKeepsEachMatrixOfEachExpertApart) {
  const WarningCatcher warnings;
  const ModelSpec spec =
      spec_of(config_of("mixtral").set("num_local_experts", 4).set("router_jitter_noise", 0.0));
  EXPECT_EQ(spec.experts.count, 4);
  EXPECT_EQ(spec.experts.chosen, 2);
  EXPECT_TRUE(spec.experts.renormalise);
  EXPECT_EQ(spec.experts.loss_share, 0.0);
  EXPECT_EQ(spec.dense_feed_forward(), 0);
  EXPECT_EQ(shape_of(spec, "model.layers.1.block_sparse_moe.gate.weight"), "[4, 16]");
  EXPECT_EQ(shape_of(spec, "model.layers.1.block_sparse_moe.experts.3.w1.weight"), "[32, 16]");
  EXPECT_EQ(shape_of(spec, "model.layers.1.block_sparse_moe.experts.3.w2.weight"), "[16, 32]");
  EXPECT_EQ(shape_of(spec, "model.layers.1.block_sparse_moe.experts.3.w3.weight"), "[32, 16]");
  EXPECT_EQ(shape_of(spec, "model.layers.1.mlp.up_proj.weight"), "");
  EXPECT_EQ(warnings.text(), "");
}

TEST(ExpertFamilies, TheGateOfAnExpertStandsAboveItsUpProjection) {
  const ModelSpec spec = spec_of(config_of("mixtral").set("num_local_experts", 2));
  const std::vector<ParameterGroup> groups = parameter_groups(spec);
  const auto found = std::find_if(groups.begin(), groups.end(), [](const ParameterGroup& group) {
    return group.role == ParameterRole::ExpertsGateUp;
  });
  ASSERT_NE(found, groups.end());
  ASSERT_EQ(found->parts.size(), 4U);
  EXPECT_THAT(found->parts[0].name, HasSubstr("experts.0.w1"));
  EXPECT_THAT(found->parts[1].name, HasSubstr("experts.0.w3"));
  EXPECT_THAT(found->parts[2].name, HasSubstr("experts.1.w1"));
}

TEST(ExpertFamilies, GraniteStacksTheExpertsOfALayer) {
  const ModelSpec spec = spec_of(config_of("granitemoeshared")
                                     .set("num_local_experts", 5)
                                     .set("num_experts_per_tok", 3)
                                     .set("residual_multiplier", 0.5)
                                     .set("shared_intermediate_size", 10));
  EXPECT_EQ(spec.residual_scale, 0.5);
  EXPECT_EQ(spec.experts.shared, 10);
  EXPECT_FALSE(spec.experts.shared_gate);
  const std::string block = "model.layers.0.";
  EXPECT_EQ(shape_of(spec, block + "block_sparse_moe.router.layer.weight"), "[5, 16]");
  EXPECT_EQ(shape_of(spec, block + "block_sparse_moe.input_linear.weight"), "[5, 64, 16]");
  EXPECT_EQ(shape_of(spec, block + "block_sparse_moe.output_linear.weight"), "[5, 16, 32]");
  EXPECT_EQ(shape_of(spec, block + "shared_mlp.input_linear.weight"), "[20, 16]");
  const ModelSpec none = spec_of(config_of("granitemoeshared").set("shared_intermediate_size", 0));
  EXPECT_EQ(shape_of(none, block + "shared_mlp.input_linear.weight"), "");
}

TEST(ExpertFamilies, ReadWhenTheRouterLossCounts) {
  const Json config = config_of("granitemoe").set("router_aux_loss_coef", 0.25);
  EXPECT_EQ(spec_of(config).experts.loss_share, 0.0);
  EXPECT_EQ(spec_of(Json(config).set("output_router_logits", true)).experts.loss_share, 0.25);
  const Json silent = config_of("olmoe").set("output_router_logits", true);
  EXPECT_EQ(spec_of(silent).experts.loss_share, 0.01);
  EXPECT_THAT(refused(Json(config).set("router_aux_loss_coef", -1)),
              HasSubstr("router_aux_loss_coef is -1, expected a number of at least 0"));
}

TEST(ExpertFamilies, QwenGatesItsSharedExpertAndMayKeepProbabilities) {
  const ModelSpec spec = spec_of(config_of("qwen2_moe").set("shared_expert_intermediate_size", 20));
  EXPECT_EQ(spec.experts.count, 60);
  EXPECT_EQ(spec.experts.chosen, 4);
  EXPECT_FALSE(spec.experts.renormalise);
  EXPECT_EQ(shape_of(spec, "model.layers.0.mlp.shared_expert_gate.weight"), "[1, 16]");
  EXPECT_EQ(shape_of(spec, "model.layers.0.mlp.shared_expert.down_proj.weight"), "[16, 20]");
  EXPECT_EQ(shape_of(spec, "model.layers.0.self_attn.q_proj.bias"), "[16]");
  EXPECT_TRUE(spec_of(config_of("qwen3_moe").set("norm_topk_prob", true)).experts.renormalise);
  EXPECT_EQ(
      spec_of(config_of("qwen3_moe").set("num_local_experts", 6).set("num_experts_per_tok", 2))
          .experts.count,
      6);
  EXPECT_EQ(spec_of(config_of("qwen3_moe").set("sliding_window", 0)).window, 0);
}

TEST(ExpertFamilies, OlmoeNormalisesAllHeadsTogether) {
  const ModelSpec spec = spec_of(config_of("olmoe").set("num_key_value_heads", 2));
  EXPECT_EQ(shape_of(spec, "model.layers.0.self_attn.q_norm.weight"), "[16]");
  EXPECT_EQ(shape_of(spec, "model.layers.0.self_attn.k_norm.weight"), "[8]");
  EXPECT_THAT(refused(config_of("olmoe").set("clip_qkv", 8.0)), HasSubstr("clip_qkv is 8"));
}

TEST(ExpertFamilies, RefuseWhatIsNotComputed) {
  const std::string every = "only experts in every layer are supported";
  EXPECT_THAT(refused(config_of("mixtral").set("num_experts_per_tok", 9)),
              HasSubstr("num_experts_per_tok is 9, expected at most num_local_experts 8"));
  EXPECT_THAT(refused(config_of("mixtral").set("router_jitter_noise", 0.1)),
              HasSubstr("router_jitter_noise is 0.1, only 0 is supported"));
  EXPECT_THAT(refused(config_of("qwen3_moe").set("decoder_sparse_step", 2)), HasSubstr(every));
  EXPECT_THAT(refused(config_of("qwen2_moe").set("mlp_only_layers", Json::array({1}))),
              HasSubstr(every));
  EXPECT_THAT(refused(config_of("qwen2_moe").set("qkv_bias", false)), HasSubstr("qkv_bias"));
  EXPECT_THAT(refused(config_of("mixtral")
                          .set("num_local_experts", 65536)
                          .set("intermediate_size", 2147483648)),
              HasSubstr("is more than 2^40"));
}

TEST(ExpertFamilies, OneTokenMeetsTheExpertsThatItVisitsOnly) {
  const ModelSpec spec = resolve_model("mixtral-8x7b-instruct-v0.1").spec;
  const std::int64_t expert = std::int64_t{3} * 4096 * 14336;
  EXPECT_EQ(active_parameter_count(spec), parameter_count(spec) - 32 * 6 * expert);
  const TrainingFlops flops = training_flops_per_token(spec, 1);
  EXPECT_DOUBLE_EQ(flops.mlp, 2.0 * 32 * (2 * static_cast<double>(expert) + 8 * 4096));
  // Its publisher tells 12.9 billion active of 46.7.
  EXPECT_NEAR(static_cast<double>(active_parameter_count(spec)), 12.9e9, 0.05e9);

  const ModelSpec shared =
      spec_of(config_of("qwen2_moe").set("shared_expert_intermediate_size", 20));
  EXPECT_DOUBLE_EQ(training_flops_per_token(shared, 1).mlp,
                   2.0 * 2 * 16 * (3 * (20 + 4 * 12) + 60 + 1));
  const ModelSpec dense = resolve_model("tiny").spec;
  EXPECT_EQ(active_parameter_count(dense), parameter_count(dense));
}

}  // namespace
}  // namespace tunebench::model
