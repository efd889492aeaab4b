#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/engine/methods/method.h"

namespace tunebench::engine {
namespace {

using testing::HasSubstr;

/// The model of the case log: 8,848 elements, head tied.
model::ModelSpec m0() {
  model::ModelSpec spec;
  spec.model_type = "llama";
  spec.vocabulary = 260;
  spec.width = 16;
  spec.layers = 2;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_width = 4;
  spec.feed_forward = 32;
  spec.max_positions = 512;
  spec.tied_head = true;
  return spec;
}

Json lora(std::initializer_list<Json::Member> settings) {
  Json config = Json::object({{"peft_type", "LORA"}, {"r", 4}, {"lora_alpha", 8}});
  for (const auto& [key, value] : settings) {
    config.set(key, value);
  }
  return config;
}

std::int64_t trained(const Json& config) {
  return trained_parameter_count(make_method(config, "test").get(), m0());
}

std::string refusal(const Json& config) {
  try {
    static_cast<void>(trained_parameter_count(make_method(config, "a.json").get(), m0()));
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST(MethodsTest, CountsWhatIsTrained) {
  EXPECT_EQ(trained_parameter_count(nullptr, m0()), 8848);
  EXPECT_EQ(trained(lora({{"target_modules", Json::array({"q_proj", "v_proj"})}})), 448);
  EXPECT_EQ(trained(lora({{"target_modules", "all-linear"}})), 2048);
  // The head is trained beside the embedding, which stays.
  EXPECT_EQ(trained(lora({{"modules_to_save", Json::array({"lm_head"})}})), 448 + 260 * 16);
  EXPECT_EQ(trained(lora({{"modules_to_save", Json::array({"model.norm", "input_layernorm"})}})),
            448 + 3 * 16);
}

TEST(MethodsTest, CountsPublishedTrainableParameters) {
  // Llama-3.2-1B, r = 8 on q_proj and v_proj.
  model::ModelSpec spec = m0();
  spec.vocabulary = 128256;
  spec.width = 2048;
  spec.layers = 16;
  spec.heads = 32;
  spec.kv_heads = 8;
  spec.head_width = 64;
  spec.feed_forward = 8192;
  const Json config = Json::object({{"peft_type", "LORA"}, {"r", 8}, {"target_modules", Json()}});
  EXPECT_EQ(trained_parameter_count(make_method(config, "test").get(), spec), 851968);
}

TEST(MethodsTest, BiasesCountWhenTheyAreTrained) {
  model::ModelSpec spec = m0();
  spec.qkv_bias = true;
  spec.output_bias = true;
  const auto with_bias = [&](const char* bias) {
    return trained_parameter_count(make_method(lora({{"bias", bias}}), "test").get(), spec);
  };
  EXPECT_EQ(with_bias("none"), 448);
  EXPECT_EQ(with_bias("lora_only"), 448 + 2 * (16 + 8));
  EXPECT_EQ(with_bias("all"), 448 + 2 * (16 + 8 + 8 + 16));
}

TEST(MethodsTest, AFrozenBaseCostsFourPerWeightAndAnAdapterSix) {
  const model::ModelSpec spec = m0();
  const model::TrainingFlops flops = model::training_flops_per_token(spec, 64);
  EXPECT_DOUBLE_EQ(training_flops_per_token(nullptr, spec, 64), flops.forward_backward());
  const auto of = [&](const Json& config) {
    return training_flops_per_token(make_method(config, "test").get(), spec, 64);
  };
  const double frozen = 2.0 * (flops.projections + flops.mlp + flops.head) + 3.0 * flops.attention;
  EXPECT_DOUBLE_EQ(of(lora({})), frozen + 6.0 * 448);
  EXPECT_DOUBLE_EQ(of(lora({{"modules_to_save", Json::array({"lm_head"})}})),
                   frozen + 6.0 * 448 + 2.0 * 260 * 16);
}

TEST(MethodsTest, PromptTuningTrainsItsRowsAndComputesMoreTokens) {
  const Json config = Json::object({{"peft_type", "PROMPT_TUNING"}, {"num_virtual_tokens", 8}});
  const std::unique_ptr<Method> method = make_method(config, "test");
  EXPECT_EQ(trained_parameter_count(method.get(), m0()), 8 * 16);
  const model::TrainingFlops flops = model::training_flops_per_token(m0(), 64 + 8);
  EXPECT_DOUBLE_EQ(training_flops_per_token(method.get(), m0(), 64),
                   72.0 / 64.0 * (2.0 * (flops.projections + flops.mlp) + 3.0 * flops.attention) +
                       2.0 * flops.head);
  EXPECT_EQ(refusal(Json::object({{"peft_type", "PROMPT_TUNING"}})),
            "a.json: num_virtual_tokens is left out, must be 1 or more");
  EXPECT_EQ(refusal(Json(config).set("prompt_tuning_init", "TEXT")),
            "a.json: prompt_tuning_init_text is left out, but prompt_tuning_init is TEXT");
  EXPECT_EQ(refusal(Json(config).set("num_transformer_submodules", 2)),
            "a.json: num_transformer_submodules is 2, must be 1: the model has a decoder only");
  EXPECT_EQ(make_method(method->config(), "test")->config(), method->config());
}

TEST(MethodsTest, PassesOverSettingsThatMeanNothing) {
  EXPECT_EQ(trained(lora({{"corda_config", Json()},
                          {"lora_bias", false},
                          {"trainable_token_indices", Json()},
                          {"rank_pattern", Json::object()},
                          {"layers_pattern", Json::array()},
                          {"peft_version", "0.99"},
                          {"task_type", "CAUSAL_LM"},
                          {"qalora_group_size", 16},
                          {"fan_in_fan_out", true}})),
            448);
}

TEST(MethodsTest, RefusesSettingsWithAMeaningByName) {
  EXPECT_EQ(refusal(lora({{"use_dora", true}})),
            "a.json: use_dora true is not supported; without it the adapter would compute "
            "something else");
  EXPECT_THAT(refusal(lora({{"rank_pattern", Json::object({{"q_proj", 8}})}})),
              HasSubstr("rank_pattern {\"q_proj\":8} is not supported"));
  EXPECT_THAT(refusal(lora({{"layers_to_transform", Json::array({0})}})),
              HasSubstr("layers_to_transform [0] is not supported"));
  EXPECT_THAT(refusal(lora({{"init_lora_weights", "pissa"}})),
              HasSubstr("init_lora_weights 'pissa' is not supported"));
  EXPECT_THAT(refusal(lora({{"task_type", "SEQ_CLS"}})),
              HasSubstr("task_type SEQ_CLS is not supported"));
  EXPECT_THAT(refusal(Json::object({{"peft_type", "LOHA"}})),
              HasSubstr("peft_type LOHA is not supported; this program has LORA, "
                        "PROMPT_TUNING"));
}

TEST(MethodsTest, RefusesValuesThatCannotBe) {
  EXPECT_EQ(refusal(lora({{"r", 0}})), "a.json: r is 0, must be 1 to 1048576");
  EXPECT_EQ(refusal(lora({{"r", "four"}})), "a.json: r is \"four\", must be a whole number");
  EXPECT_EQ(refusal(lora({{"lora_dropout", 1.0}})),
            "a.json: lora_dropout is 1, must be 0 or more and below 1");
  EXPECT_EQ(refusal(lora({{"bias", "some"}})),
            "a.json: bias is \"some\", must be none, all or lora_only");
  EXPECT_EQ(refusal(lora({{"target_modules", 3}})),
            "a.json: target_modules is 3, must be a list of names of modules");
  EXPECT_EQ(refusal(lora({{"modules_to_save", Json::array({"classifier"})}})),
            "modules_to_save: llama has no module 'classifier'");
  EXPECT_EQ(refusal(Json::array()), "a.json: peft_type is missing");
}

TEST(MethodsTest, SettingsReadBackAsTheyWereWritten) {
  const Json config = lora({{"use_rslora", true},
                            {"bias", "all"},
                            {"lora_dropout", 0.05},
                            {"target_modules", Json::array({"q_proj"})},
                            {"modules_to_save", Json::array({"lm_head"})}});
  const Json written = make_method(config, "test")->config();
  EXPECT_EQ(make_method(written, "test")->config(), written);
  for (const auto& [key, value] : config.as_object()) {
    EXPECT_EQ(written.at(key), value) << key;
  }
}

}  // namespace
}  // namespace tunebench::engine
