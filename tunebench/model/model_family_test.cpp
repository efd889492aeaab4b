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
  EXPECT_EQ(reason_against("mixtral"), "mixture of experts is not supported yet");
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

TEST(ModelFamilyTest, NamesTheTensorsOfALlama) {
  const ModelSpec spec = read(m0_config().set("attention_bias", true));
  EXPECT_TRUE(has_tensor(spec, "model.layers.1.self_attn.k_proj.bias"));
  EXPECT_TRUE(has_tensor(spec, "model.layers.0.post_attention_layernorm.weight"));
  EXPECT_FALSE(has_tensor(spec, "model.layers.0.mlp.up_proj.bias"));
}

}  // namespace
}  // namespace tunebench::model
