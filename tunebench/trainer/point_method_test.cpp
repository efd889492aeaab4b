#include "tunebench/trainer/point_method.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {
namespace {

experiment::Point lora_point(experiment::Inputs inputs = {}) {
  inputs.emplace("model_name", "smollm2-135m");
  inputs.emplace("model_max_length", 512);
  return {"finetune_lora_benchmark-v1.0.0", std::move(inputs)};
}

Json config_of(experiment::Inputs inputs) {
  return method_of(lora_point(std::move(inputs)))->config();
}

TEST(PointMethodTest, FullFineTuningHasNone) {
  EXPECT_EQ(method_of({"finetune_full_benchmark-v1.0.0", {{"model_name", "tiny"}}}), nullptr);
  EXPECT_EQ(method_of({"finetune_full_stability-v1.0.0", {{"model_name", "tiny"}}}), nullptr);
}

TEST(PointMethodTest, LoraBeginsWithTheDefaultsOfTheReference) {
  const Json config = config_of({});
  EXPECT_EQ(config.at("r"), Json(4));
  EXPECT_EQ(config.at("lora_alpha"), Json(16));
  EXPECT_EQ(config.at("lora_dropout"), Json(0.05));
  EXPECT_EQ(config.at("bias"), Json("none"));
}

TEST(PointMethodTest, TargetsAreThoseOfTheReferenceForModelsItKnows) {
  EXPECT_EQ(config_of({}).at("target_modules"), Json::array({"q_proj", "v_proj"}));
  EXPECT_EQ(config_of({{"model_name", "llama-7b"}}).at("target_modules"),
            Json::array({"q_proj", "k_proj"}));
  EXPECT_EQ(config_of({{"model_name", "granite-20b-v2"}}).at("target_modules"),
            Json::array({"c_attn", "c_proj"}));
  EXPECT_TRUE(config_of({{"model_name", "tiny"}}).at("target_modules").is_null());
}

TEST(PointMethodTest, TargetsAreNamesAWordOrAnExpression) {
  EXPECT_EQ(config_of({{"target_modules", "q_proj  k_proj"}}).at("target_modules"),
            Json::array({"q_proj", "k_proj"}));
  EXPECT_EQ(config_of({{"target_modules", "all-linear"}}).at("target_modules"), Json("all-linear"));
  EXPECT_EQ(config_of({{"target_modules", R"(.*\.1\..*q_proj)"}}).at("target_modules"),
            Json(R"(.*\.1\..*q_proj)"));
  EXPECT_EQ(config_of({{"modules_to_save", "lm_head norm"}}).at("modules_to_save"),
            Json::array({"lm_head", "norm"}));
}

TEST(PointMethodTest, PromptTuningBeginsWithTheTextOfTheReference) {
  const experiment::Point point{"finetune_pt_benchmark-v1.0.0",
                                {{"model_name", "granite-13b-v2"}, {"model_max_length", 8192}}};
  const std::shared_ptr<const engine::Method> method = method_of(point);
  EXPECT_EQ(method->virtual_tokens(), 8);
  EXPECT_EQ(method->beginning_text(), "Classify if the tweet is a complaint or not:");
  try {
    static_cast<void>(training_facts(model::resolve_model("granite-13b-v2"), point));
    FAIL() << "8,200 positions of 8,192";
  } catch (const Error& error) {
    EXPECT_EQ(
        error.message(),
        "num_virtual_tokens 8 and model_max_length 8192 are more than the 8192 positions that "
        "the model has learned");
  }
}

TEST(PointMethodTest, TellsWhatIsTrainedAndWhatItCosts) {
  const model::ModelSource source = model::resolve_model("smollm2-135m");
  const TrainingFacts lora = training_facts(source, lora_point({{"r", 8}}));
  // r (in + out) of q_proj 576 x 576 and v_proj 576 x 192 in 30 layers.
  EXPECT_EQ(lora.trained_parameters, 30 * 8 * (576 + 576 + 576 + 192));
  const TrainingFacts full =
      training_facts(source, {"finetune_full_benchmark-v1.0.0", lora_point().inputs});
  EXPECT_EQ(full.trained_parameters, 134515008);
  // 53.1 + 159.3 + 56.6 of weights, 17.7 of attention, in millions.
  EXPECT_NEAR(full.flops_per_token / 1e6, 3 * 286.7, 0.2);
  EXPECT_NEAR(lora.flops_per_token / 1e6, 2 * (53.08 + 159.25 + 56.62) + 3 * 17.73 + 6 * 0.4608,
              0.1);
}

TEST(PointMethodTest, RefusesATargetThatTheModelHasNot) {
  try {
    static_cast<void>(training_facts(model::resolve_model("smollm2-135m"),
                                     lora_point({{"target_modules", "c_attn"}})));
    FAIL() << "found c_attn in a llama";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), testing::HasSubstr("'c_attn' fits no projection of llama"));
  }
}

}  // namespace
}  // namespace tunebench::trainer
