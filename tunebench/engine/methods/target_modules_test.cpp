#include "tunebench/engine/methods/target_modules.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

model::ModelSpec spec_of(const char* model_type) {
  model::ModelSpec spec;
  spec.model_type = model_type;
  spec.vocabulary = 11;
  spec.width = 8;
  spec.layers = 2;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_width = 3;
  spec.feed_forward = 5;
  return spec;
}

std::vector<std::string> found(const model::ModelSpec& spec, const Json& targets) {
  std::vector<std::string> names;
  for (const TargetModule& module : find_targets(spec, targets)) {
    names.push_back(module.name);
  }
  return names;
}

std::string refusal(const model::ModelSpec& spec, const Json& targets) {
  try {
    static_cast<void>(find_targets(spec, targets));
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(TargetModulesTest, FindsModulesByTheirLastName) {
  EXPECT_THAT(found(spec_of("llama"), Json::array({"q_proj", "v_proj"})),
              ElementsAre("model.layers.0.self_attn.q_proj", "model.layers.0.self_attn.v_proj",
                          "model.layers.1.self_attn.q_proj", "model.layers.1.self_attn.v_proj"));
  EXPECT_THAT(found(spec_of("llama"), Json::array({"layers.1.mlp.up_proj"})),
              ElementsAre("model.layers.1.mlp.up_proj"));
}

TEST(TargetModulesTest, ANameMayFitTwoModulesOfABlock) {
  model::ModelSpec spec = spec_of("gpt_bigcode");
  spec.layers = 1;
  spec.gated_mlp = false;
  EXPECT_THAT(found(spec, Json::array({"c_attn", "c_proj"})),
              ElementsAre("transformer.h.0.attn.c_attn", "transformer.h.0.attn.c_proj",
                          "transformer.h.0.mlp.c_proj"));
}

TEST(TargetModulesTest, KnowsWhereAModuleStandsInTheFusedProjection) {
  model::ModelSpec spec = spec_of("llama");
  spec.qkv_bias = true;
  const std::vector<TargetModule> modules = find_targets(spec, Json::array({"v_proj"}));
  ASSERT_THAT(modules, SizeIs(2));
  EXPECT_EQ(modules[1].layer, 1);
  EXPECT_EQ(modules[1].projection, Projection::Qkv);
  EXPECT_EQ(modules[1].first, 18);
  EXPECT_EQ(modules[1].outputs, 6);
  EXPECT_EQ(modules[1].inputs, 8);
  EXPECT_TRUE(modules[1].bias);
}

TEST(TargetModulesTest, AllLinearIsEveryProjectionButNeitherHeadNorEmbedding) {
  EXPECT_THAT(found(spec_of("llama"), "all-linear"), SizeIs(14));
  EXPECT_THAT(found(spec_of("phi3"), "all-linear"), SizeIs(8));
}

TEST(TargetModulesTest, ATextIsARegularExpressionOverTheWholeName) {
  EXPECT_THAT(found(spec_of("llama"), R"(.*\.1\..*(q|k)_proj)"),
              ElementsAre("model.layers.1.self_attn.q_proj", "model.layers.1.self_attn.k_proj"));
  EXPECT_THAT(refusal(spec_of("llama"), "q_proj"), HasSubstr("'q_proj' fits no projection"));
  EXPECT_THAT(refusal(spec_of("llama"), "(q_proj"), HasSubstr("target_modules: '(q_proj'"));
}

TEST(TargetModulesTest, WithoutAWordTakesQueriesAndValues) {
  EXPECT_THAT(default_targets(spec_of("qwen3")), ElementsAre("q_proj", "v_proj"));
  EXPECT_THAT(default_targets(spec_of("phi3")), ElementsAre("qkv_proj"));
  EXPECT_THAT(default_targets(spec_of("gpt_bigcode")), ElementsAre("c_attn"));
  EXPECT_THAT(default_targets(spec_of("bloom")), ElementsAre("query_key_value"));
  EXPECT_THAT(found(spec_of("llama"), Json()), SizeIs(4));
}

TEST(TargetModulesTest, RefusesANameThatFitsNothingWithTheNearest) {
  EXPECT_EQ(refusal(spec_of("llama"), Json::array({"q_proj", "v_porj"})),
            "target_modules: 'v_porj' fits no projection of llama; it has q_proj, k_proj, v_proj, "
            "o_proj, gate_proj, up_proj, down_proj; did you mean 'v_proj'?");
  EXPECT_THAT(refusal(spec_of("llama"), Json::array({"query_key_value"})),
              HasSubstr("'query_key_value' fits no projection of llama"));
  EXPECT_THAT(refusal(spec_of("llama"), Json::array({"proj"})), HasSubstr("'proj' fits no"));
  EXPECT_THAT(refusal(spec_of("llama"), Json::array()), HasSubstr("names no module"));
}

TEST(TargetModulesTest, RefusesHeadAndEmbeddingWithTheWayToTrainThem) {
  for (const char* name : {"lm_head", "embed_tokens"}) {
    EXPECT_EQ(refusal(spec_of("llama"), Json::array({name})),
              std::string("target_modules: '") + name +
                  "' is not a projection of a block and is not adapted here; modules_to_save "
                  "trains it whole");
  }
}

}  // namespace
}  // namespace tunebench::engine
