#include "tunebench/model/model_family.h"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/model/parameter_groups.h"
#include "tunebench/model/test_folder.h"

namespace tunebench::model {
namespace {

using ::testing::HasSubstr;
using testing::m0_config;
using testing::message_of;
using testing::WarningCatcher;

Json family_config(const std::string& model_type) {
  return m0_config().set("model_type", model_type).set("architectures", nullptr);
}

ModelSpec read(const Json& config) {
  return parse_model_config(config, "config.json");
}

std::string refusal_of(const Json& config) {
  return message_of([&] { read(config); });
}

bool has_tensor(const ModelSpec& spec, std::string_view name) {
  for (const TensorShape& tensor : tensor_shapes(spec)) {
    if (tensor.name == name) {
      return true;
    }
  }
  return false;
}

TEST(ModelFamilyTest, EveryFamilyIsFoundByItsType) {
  for (const Family& family : families()) {
    EXPECT_EQ(find_family(family.model_type), &family);
    EXPECT_THAT(family_names(), HasSubstr(std::string(family.model_type)));
    EXPECT_EQ(reason_against(family.model_type), "");
  }
  EXPECT_EQ(find_family("gpt_neox"), nullptr);
  EXPECT_EQ(reason_against("deepseek_v3"), kNoSuchExperts);
  EXPECT_EQ(reason_against("gpt_neox"), "");
}

TEST(ModelFamilyTest, GraniteReadsItsMultipliers) {
  const WarningCatcher warnings;
  const ModelSpec spec = read(family_config("granite")
                                  .set("embedding_multiplier", 12)
                                  .set("residual_multiplier", 0.22)
                                  .set("logits_scaling", 8.0)
                                  .set("attention_multiplier", 0.0078125)
                                  .set("attention_bias", true)
                                  .set("mlp_bias", true));
  EXPECT_EQ(spec.embedding_scale, 12.0);
  EXPECT_EQ(spec.residual_scale, 0.22);
  EXPECT_EQ(spec.logit_divisor, 8.0);
  EXPECT_EQ(spec.attention_scale, 0.0078125);
  EXPECT_TRUE(spec.qkv_bias && spec.output_bias && spec.mlp_bias);
  EXPECT_EQ(warnings.text(), "");
  // Those of its class, where the score scale is not 1 / sqrt(E).
  EXPECT_EQ(read(family_config("granite")).attention_scale, 1.0);
  EXPECT_THAT(refusal_of(family_config("granite").set("residual_multiplier", 0)),
              HasSubstr("residual_multiplier is 0, expected a number above 0"));
  // Elsewhere they would be ignored by the reference, so they are refused.
  EXPECT_THAT(refusal_of(m0_config().set("logits_scaling", 8.0)), HasSubstr("logits_scaling is 8"));
}

TEST(ModelFamilyTest, GroupsHoldEveryTensorOnce) {
  for (const Family& family : families()) {
    ModelSpec spec;
    spec.model_type = std::string(family.model_type);
    spec.vocabulary = 11;
    spec.width = 8;
    spec.layers = 2;
    spec.heads = 2;
    spec.kv_heads = 2;
    spec.head_width = 4;
    spec.feed_forward = 6;
    spec.max_positions = 9;
    spec.norm = family.norm;
    spec.positions = family.positions;
    spec.embedding_norm = family.embedding_norm;
    spec.post_norms = family.post_norms;
    spec.qk_norm = family.qk_norm;
    spec.gated_mlp = family.gated_mlp;
    std::set<std::string> names;
    std::int64_t elements = 0;
    for (const ParameterGroup& group : parameter_groups(spec)) {
      for (const ParameterGroup::Part& part : group.parts) {
        EXPECT_TRUE(names.insert(part.name).second) << part.name;
        EXPECT_EQ(part.name.find(".."), std::string::npos) << part.name;
        EXPECT_NE(part.name.front(), '.') << part.name;
      }
      elements += group.outputs() * (group.vector() ? 1 : group.inputs);
    }
    EXPECT_EQ(elements, parameter_count(spec)) << family.model_type;
  }
}

TEST(ModelFamilyTest, Qwen3NormalisesHeadsOfItsOwnWidth) {
  const ModelSpec spec = read(family_config("qwen3"));
  EXPECT_TRUE(spec.qk_norm);
  EXPECT_EQ(spec.head_width, 128);
  EXPECT_FALSE(spec.qkv_bias);
  EXPECT_EQ(read(family_config("qwen3").set("head_dim", 8)).head_width, 8);
  EXPECT_TRUE(read(family_config("qwen3").set("attention_bias", true)).output_bias);
  EXPECT_TRUE(has_tensor(spec, "model.layers.1.self_attn.q_norm.weight"));
  EXPECT_THAT(refusal_of(family_config("qwen3").set("mlp_bias", true)),
              HasSubstr("a model of type qwen3 has none"));
}

TEST(ModelFamilyTest, Phi3FusesItsProjectionsAndMayRotateAPart) {
  const WarningCatcher warnings;
  const ModelSpec spec = read(family_config("phi3")
                                  .set("head_dim", nullptr)
                                  .set("hidden_size", 32)
                                  .set("partial_rotary_factor", 0.75)
                                  .set("auto_map", Json::object({{"AutoConfig", "x.Phi3Config"}}))
                                  .set("original_max_position_embeddings", 512)
                                  .set("resid_pdrop", 0.0)
                                  .set("sliding_window", 100));
  EXPECT_EQ(spec.rotated(), 6);
  EXPECT_EQ(spec.window, 100);
  EXPECT_EQ(warnings.text(), "");
  EXPECT_TRUE(has_tensor(spec, "model.layers.0.self_attn.qkv_proj.weight"));
  EXPECT_TRUE(has_tensor(spec, "model.layers.0.mlp.gate_up_proj.weight"));
  EXPECT_FALSE(has_tensor(spec, "model.layers.0.mlp.up_proj.weight"));
  // Its first files call longrope su or yarn.
  const Json su =
      Json::parse(R"({"type": "su", "short_factor": [1, 1], "long_factor": [1, 2]})", "test");
  EXPECT_EQ(read(family_config("phi3").set("rope_scaling", su)).rope_scaling.type,
            RopeScaling::Type::LongRope);
  EXPECT_THAT(refusal_of(family_config("phi3").set("resid_pdrop", 0.1)),
              HasSubstr("resid_pdrop is 0.1"));
  EXPECT_THAT(refusal_of(family_config("phi3").set("partial_rotary_factor", 0.9)),
              HasSubstr("partial_rotary_factor is 0.9, expected a share of head_dim 4"));
}

TEST(ModelFamilyTest, Gemma2HasCapsAndAWindowInEveryOtherLayer) {
  const ModelSpec spec =
      read(family_config("gemma2").set("sliding_window", 128).set("query_pre_attn_scalar", 144));
  EXPECT_EQ(spec.norm, NormKind::RmsPlusOne);
  EXPECT_TRUE(spec.post_norms);
  EXPECT_EQ(spec.activation, Activation::GeluTanh);
  EXPECT_DOUBLE_EQ(spec.attention_scale, 1.0 / 12.0);
  EXPECT_EQ(spec.score_cap, 50.0);
  EXPECT_EQ(spec.logit_cap, 30.0);
  EXPECT_EQ(spec.head_width, 256);
  EXPECT_TRUE(spec.local(0));
  EXPECT_FALSE(spec.local(1));
  EXPECT_EQ(spec.embedding_scale, 4.0);
  EXPECT_TRUE(has_tensor(spec, "model.layers.0.pre_feedforward_layernorm.weight"));
  const ModelSpec uncapped = read(family_config("gemma2")
                                      .set("attn_logit_softcapping", nullptr)
                                      .set("final_logit_softcapping", 10.0));
  EXPECT_EQ(uncapped.score_cap, 0.0);
  EXPECT_EQ(uncapped.logit_cap, 10.0);
  EXPECT_THAT(refusal_of(family_config("gemma2").set("use_bidirectional_attention", true)),
              HasSubstr("only causal attention is supported"));
}

TEST(ModelFamilyTest, GemmaMultipliesEmbeddingsWithANumberOfTheWeightsType) {
  const Json wide = family_config("gemma2").set("hidden_size", 24);
  EXPECT_EQ(read(wide).embedding_scale, static_cast<double>(4.8989795F));
  EXPECT_EQ(read(Json(wide).set("torch_dtype", "bfloat16")).embedding_scale, 4.90625);
  EXPECT_EQ(read(Json(wide).set("torch_dtype", "float16")).embedding_scale, 4.8984375);
}

TEST(ModelFamilyTest, Gemma3RotatesLocalLayersByAnotherBase) {
  const Json gemma = family_config("gemma3_text").set("sliding_window", 128);
  const Json six =
      Json(gemma)
          .set("num_hidden_layers", 7)
          .set("rope_local_base_freq", 500.0)
          .set("rope_scaling", Json::object({{"rope_type", "linear"}, {"factor", 8.0}}));
  const ModelSpec spec = read(six);
  EXPECT_TRUE(spec.qk_norm);
  EXPECT_EQ(spec.score_cap, 0.0);
  EXPECT_EQ(spec.local_rope_theta, 500.0);
  EXPECT_EQ(spec.rope_scaling.factor, 8.0);
  EXPECT_TRUE(spec.local(4));
  EXPECT_FALSE(spec.local(5));
  EXPECT_TRUE(spec.local(6));
  const Json newer = Json::parse(R"({"sliding_attention": {"rope_theta": 7.0},
      "full_attention": {"rope_type": "linear", "factor": 4.0, "rope_theta": 9.0}})",
                                 "test");
  EXPECT_EQ(
      read(Json(gemma).set("rope_theta", nullptr).set("rope_parameters", newer)).local_rope_theta,
      7.0);
  EXPECT_EQ(read(Json(gemma).set("rope_parameters", newer)).rope_theta, 9.0);
  EXPECT_THAT(refusal_of(Json(gemma).set("attn_logit_softcapping", 50.0)),
              HasSubstr("attn_logit_softcapping is 50"));
  EXPECT_THAT(refusal_of(Json(gemma).set("sliding_window", nullptr)),
              HasSubstr("sliding_window is null, expected the window"));
  EXPECT_EQ(refusal_of(family_config("gemma3")),
            "config.json: model_type is \"gemma3\", the vision tower is not supported yet");
}

TEST(ModelFamilyTest, GraniteHybridWithoutExpertsIsAGraniteByOtherNames) {
  const WarningCatcher warnings;
  const Json dense = family_config("granitemoehybrid")
                         .set("num_local_experts", 0)
                         .set("layer_types", Json::array({"attention", "attention"}))
                         .set("shared_intermediate_size", 24)
                         .set("position_embedding_type", "rope")
                         .set("mamba_n_heads", 4);
  const ModelSpec spec = read(dense);
  EXPECT_EQ(spec.feed_forward, 24);
  EXPECT_EQ(spec.positions, PositionKind::Rope);
  EXPECT_TRUE(has_tensor(spec, "model.layers.0.shared_mlp.input_linear.weight"));
  EXPECT_EQ(read(Json(dense).set("position_embedding_type", "nope")).positions, PositionKind::None);
  EXPECT_EQ(warnings.text(), "");
  EXPECT_THAT(
      refusal_of(Json(dense).set("num_local_experts", 8)),
      HasSubstr("num_local_experts is 8, this kind of mixture of experts is not supported yet"));
  EXPECT_THAT(refusal_of(Json(dense).set("num_local_experts", nullptr)),
              HasSubstr(std::string(kNoSuchExperts)));
  EXPECT_THAT(refusal_of(Json(dense).set("layer_types", Json::array({"mamba", "attention"}))),
              HasSubstr("state-space (Mamba) layers are not supported yet"));
}

TEST(ModelFamilyTest, GptBigCodeReadsItsOwnNamesOfSizes) {
  const WarningCatcher warnings;
  const Json config = Json::parse(
      R"({"model_type": "gpt_bigcode", "architectures": ["GPTBigCodeForCausalLM"],
          "activation_function": "gelu", "attention_softmax_in_fp32": true, "attn_pdrop": 0,
          "bos_token_id": 0, "embd_pdrop": 0, "eos_token_id": 0, "layer_norm_epsilon": 1e-5,
          "multi_query": true, "n_embd": 16, "n_head": 4, "n_inner": 40, "n_layer": 2,
          "n_positions": 32, "resid_pdrop": 0, "scale_attn_weights": true, "summary_type": "cls_index",
          "vocab_size": 53})",
      "config.json");
  const ModelSpec spec = read(config);
  EXPECT_EQ(spec.width, 16);
  EXPECT_EQ(spec.kv_heads, 1);
  EXPECT_EQ(spec.feed_forward, 40);
  EXPECT_EQ(spec.max_positions, 32);
  EXPECT_EQ(spec.positions, PositionKind::Learned);
  EXPECT_EQ(spec.activation, Activation::Gelu);
  EXPECT_TRUE(spec.tied_head && spec.qkv_bias && spec.mlp_bias && !spec.gated_mlp);
  EXPECT_FALSE(spec.interleaved_qkv);
  EXPECT_TRUE(has_tensor(spec, "transformer.h.1.attn.c_attn.bias"));
  EXPECT_TRUE(has_tensor(spec, "transformer.wpe.weight"));
  EXPECT_EQ(warnings.text(), "");
  const ModelSpec many = read(Json(config).set("multi_query", false).set("n_inner", nullptr));
  EXPECT_EQ(many.kv_heads, 4);
  EXPECT_EQ(many.feed_forward, 64);
  EXPECT_TRUE(many.interleaved_qkv);
  EXPECT_EQ(read(Json(config).set("scale_attn_weights", false)).attention_scale, 1.0);
  EXPECT_THAT(
      refusal_of(Json(config).set("attn_pdrop", 0.1)),
      HasSubstr("attn_pdrop is 0.1, so 0.1 of it is dropped, and dropout is not supported"));
  EXPECT_THAT(refusal_of(Json(config).set("num_key_value_heads", 2)),
              HasSubstr("num_key_value_heads is 2, and multi_query asks for 1"));
  EXPECT_THAT(refusal_of(Json(config).set("hidden_size", 17)),
              HasSubstr("hidden_size is 17, and n_embd says something else; keep one"));
}

TEST(ModelFamilyTest, GptBigCodeDropsWhereItsFileIsSilent) {
  EXPECT_THAT(refusal_of(family_config("gpt_bigcode").set("num_key_value_heads", nullptr)),
              HasSubstr("attn_pdrop is missing, so 0.1 of it is dropped"));
}

TEST(ModelFamilyTest, BloomReadsItsOwnNamesOfSizes) {
  const WarningCatcher warnings;
  const Json config = Json::parse(
      R"({"model_type": "bloom", "architectures": ["BloomForCausalLM"],
          "apply_residual_connection_post_layernorm": false, "attention_dropout": 0.0,
          "attention_softmax_in_fp32": true, "bias_dropout_fusion": true, "bos_token_id": 1,
          "eos_token_id": 2, "hidden_dropout": 0.0, "initializer_range": 0.02,
          "layer_norm_epsilon": 1e-5, "masked_softmax_fusion": true, "n_embed": 12,
          "n_inner": null, "n_layer": 2, "num_attention_heads": 6, "offset_alibi": 100,
          "pad_token_id": 3, "pretraining_tp": 4, "seq_length": 2048, "skip_bias_add": true,
          "skip_bias_add_qkv": false, "torch_dtype": "float16", "unk_token_id": 0,
          "use_cache": true, "vocab_size": 53})",
      "config.json");
  const ModelSpec spec = read(config);
  EXPECT_EQ(spec.width, 12);
  EXPECT_EQ(spec.feed_forward, 48);
  EXPECT_EQ(spec.head_width, 2);
  EXPECT_EQ(spec.max_positions, 2048);
  EXPECT_EQ(spec.positions, PositionKind::Alibi);
  EXPECT_TRUE(spec.embedding_norm && spec.interleaved_qkv && spec.tied_head);
  EXPECT_TRUE(has_tensor(spec, "transformer.word_embeddings_layernorm.bias"));
  EXPECT_TRUE(has_tensor(spec, "transformer.h.1.self_attention.query_key_value.weight"));
  EXPECT_EQ(warnings.text(), "");
  EXPECT_THAT(refusal_of(Json(config).set("apply_residual_connection_post_layernorm", true)),
              HasSubstr("only false is supported"));
  EXPECT_THAT(refusal_of(Json(config).set("hidden_dropout", 0.1)),
              HasSubstr("hidden_dropout is 0.1"));
}

TEST(ModelFamilyTest, EveryFamilyWritesWhatItReadsBack) {
  for (const Family& family : families()) {
    Json config = family_config(std::string(family.model_type)).set("attn_pdrop", 0);
    config.set("embd_pdrop", 0).set("resid_pdrop", 0).set("sliding_window", nullptr);
    if (family.model_type == "granitemoehybrid") {
      config.set("num_local_experts", 0)
          .set("layer_types", Json::array({"attention", "attention"}))
          .set("shared_intermediate_size", 24)
          .set("position_embedding_type", "rope");
    }
    if (family.keys.feed_forward == "moe_intermediate_size") {
      config.set("moe_intermediate_size", 12);
    }
    if (family.local_rope_theta > 0) {
      config.set("sliding_window", 9);
    }
    if (family.biases == Biases::All) {
      config.set("num_key_value_heads", nullptr);
    }
    const ModelSpec spec = read(config);
    const Json written = model_config_json(spec);
    const ModelSpec again = read(written);
    EXPECT_EQ(model_config_json(again), written) << family.model_type;
    EXPECT_EQ(again.model_type, family.model_type);
    EXPECT_EQ(parameter_count(again), parameter_count(spec)) << family.model_type;
    EXPECT_EQ(again.local_layers, spec.local_layers) << family.model_type;
  }
}

TEST(ModelFamilyTest, NamesTheTensorsOfALlama) {
  const ModelSpec spec = read(m0_config().set("attention_bias", true));
  EXPECT_TRUE(has_tensor(spec, "model.layers.1.self_attn.k_proj.bias"));
  EXPECT_TRUE(has_tensor(spec, "model.layers.0.post_attention_layernorm.weight"));
  EXPECT_FALSE(has_tensor(spec, "model.layers.0.mlp.up_proj.bias"));
}

}  // namespace
}  // namespace tunebench::model
