#include <cmath>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/model/model_spec.h"
#include "tunebench/model/rope.h"
#include "tunebench/model/test_folder.h"

namespace tunebench::model {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::m0_config;
using testing::message_of;
using Type = RopeScaling::Type;

Json config_of(const std::string& model_type) {
  return m0_config().set("model_type", model_type).set("architectures", nullptr);
}

ModelSpec parsed(const Json& config) {
  return parse_model_config(config, "config.json");
}

std::string refused(const Json& config) {
  return message_of([&] { parsed(config); });
}

Json block(std::string_view text) {
  return Json::parse(text, "test");
}

ModelSpec scaled(std::string_view text) {
  return parsed(m0_config().set("rope_scaling", block(text)));
}

TEST(PositionConfigTest, ReadsYarnWithItsDefaults) {
  const ModelSpec spec = scaled(R"({"type": "yarn", "factor": 4.0,
                                    "original_max_position_embeddings": 128})");
  EXPECT_EQ(spec.rope_scaling.type, Type::Yarn);
  EXPECT_EQ(spec.rope_scaling.original_max_positions, 128);
  EXPECT_EQ(spec.rope_scaling.beta_fast, 32.0);
  EXPECT_EQ(spec.rope_scaling.beta_slow, 1.0);
  EXPECT_TRUE(spec.rope_scaling.truncate);
  EXPECT_DOUBLE_EQ(spec.rope_scaling.amplitude, 0.1 * std::log(4.0) + 1.0);
  EXPECT_EQ(longest_sequence(spec), 512);
}

TEST(PositionConfigTest, YarnTakesTheTrainedRangeFromTheFileWhenTheBlockIsSilent) {
  const ModelSpec spec = scaled(R"({"rope_type": "yarn", "factor": 4.0})");
  EXPECT_EQ(spec.rope_scaling.original_max_positions, 512);
  EXPECT_EQ(longest_sequence(spec), 2048);
}

TEST(PositionConfigTest, YarnAmplitudeIsToldOrFollowsFromTwoScales) {
  EXPECT_EQ(
      scaled(R"({"type": "yarn", "factor": 4, "attention_factor": 1.25})").rope_scaling.amplitude,
      1.25);
  // One of the two scales alone takes no part.
  EXPECT_DOUBLE_EQ(scaled(R"({"type": "yarn", "factor": 4, "mscale": 0.7})").rope_scaling.amplitude,
                   0.1 * std::log(4.0) + 1.0);
  EXPECT_DOUBLE_EQ(scaled(R"({"type": "yarn", "factor": 4, "mscale": 0.7, "mscale_all_dim": 0.5})")
                       .rope_scaling.amplitude,
                   (0.07 * std::log(4.0) + 1.0) / (0.05 * std::log(4.0) + 1.0));
}

TEST(PositionConfigTest, YarnKeepsFastPairsAndStretchesSlowOnes) {
  ModelSpec spec;
  spec.head_width = 64;
  spec.rope_theta = 10000.0;
  spec.rope_scaling = {.type = Type::Yarn, .factor = 8.0, .original_max_positions = 2048};
  const std::vector<double> stretched = rope_frequencies(spec);
  spec.rope_scaling = {};
  const std::vector<double> plain = rope_frequencies(spec);
  // 64 log(2048 / (32 2 pi)) / (2 log 10000) = 8.06 and, for one turn, 20.1.
  for (std::size_t pair = 0; pair < 32; ++pair) {
    if (pair <= 8) {
      EXPECT_DOUBLE_EQ(stretched[pair], plain[pair]) << pair;
    } else if (pair >= 21) {
      EXPECT_DOUBLE_EQ(stretched[pair], plain[pair] / 8.0) << pair;
    } else {
      EXPECT_LT(stretched[pair], plain[pair]) << pair;
      EXPECT_GT(stretched[pair], plain[pair] / 8.0) << pair;
    }
  }
}

TEST(PositionConfigTest, DynamicScalingGrowsTheBaseBeyondTheTrainedRange) {
  const ModelSpec spec =
      parsed(m0_config()
                 .set("head_dim", 8)
                 .set("rope_scaling", block(R"({"type": "dynamic", "factor": 2.0})")));
  EXPECT_EQ(longest_sequence(spec), 1024);
  EXPECT_EQ(rope_frequencies(spec, 512), rope_frequencies(spec));
  EXPECT_EQ(rope_length_class(spec, 100), rope_length_class(spec, 512));
  EXPECT_NE(rope_length_class(spec, 513), rope_length_class(spec, 512));
  // Twice the range: base times (2 * 2 - 1)^(8/6).
  const double base = 10000.0 * std::pow(3.0, 8.0 / 6.0);
  EXPECT_THAT(rope_frequencies(spec, 1024),
              ElementsAre(DoubleNear(1, 1e-15), DoubleNear(std::pow(base, -0.25), 1e-15),
                          DoubleNear(std::pow(base, -0.5), 1e-15),
                          DoubleNear(std::pow(base, -0.75), 1e-15)));
}

TEST(PositionConfigTest, RefusesScalingBlocksThatCannotBe) {
  const auto refusal = [](std::string_view text) {
    return refused(m0_config().set("rope_scaling", block(text)));
  };
  EXPECT_THAT(refusal(R"({"type": "yarn", "factor": 0})"), HasSubstr("factor is 0, expected"));
  EXPECT_THAT(refusal(R"({"type": "yarn", "factor": 4, "beta_fast": 0.5})"),
              HasSubstr("beta_fast is 0.5, expected at least beta_slow 1"));
  EXPECT_THAT(refusal(R"({"type": "yarn", "factor": 4, "low_freq_factor": 1})"),
              HasSubstr("low_freq_factor is 1, which this program does not understand"));
  EXPECT_THAT(refusal(R"({"type": "dynamic"})"), HasSubstr("factor is missing"));
  EXPECT_THAT(refusal(R"({"type": "dynamic", "factor": 0.5})"), HasSubstr("factor is 0.5"));
  EXPECT_THAT(refusal(R"({"type": "dynamic", "factor": 2,
                          "original_max_position_embeddings": 128})"),
              HasSubstr("dynamic scaling begins at max_position_embeddings 512"));
  EXPECT_THAT(refusal(R"({"type": "longrope", "short_factor": [1, 1], "long_factor": [1]})"),
              HasSubstr("long_factor is [1], expected a list of 2 numbers above 0"));
  EXPECT_THAT(refusal(R"({"type": "longrope", "short_factor": [1, -1], "long_factor": [1, 1]})"),
              HasSubstr("short_factor is [1,-1], expected a list of 2"));
  EXPECT_THAT(refused(m0_config()
                          .set("original_max_position_embeddings", 64)
                          .set("rope_scaling", block(R"({"type": "yarn", "factor": 4,
                                         "original_max_position_embeddings": 128})"))),
              HasSubstr("original_max_position_embeddings is 64, and rope_scaling says something"));
}

TEST(PositionConfigTest, ReadsLongropeFactorsAndTheirAmplitude) {
  const ModelSpec spec =
      scaled(R"({"type": "longrope", "short_factor": [1, 1.5], "long_factor": [2, 4],
                 "original_max_position_embeddings": 128})");
  EXPECT_EQ(spec.rope_scaling.factor, 4.0);
  EXPECT_DOUBLE_EQ(spec.rope_scaling.amplitude, std::sqrt(1.0 + std::log(4.0) / std::log(128.0)));
  EXPECT_THAT(rope_frequencies(spec, 128), ElementsAre(1.0, DoubleNear(0.01 / 1.5, 1e-15)));
  EXPECT_THAT(rope_frequencies(spec, 129), ElementsAre(0.5, DoubleNear(0.01 / 4.0, 1e-15)));
}

TEST(PositionConfigTest, ReadsTheWindowOfMistral) {
  const Json mistral = config_of("mistral");
  EXPECT_EQ(parsed(Json(mistral).set("sliding_window", 256)).window, 256);
  EXPECT_TRUE(parsed(Json(mistral).set("sliding_window", 256)).local_layers.empty());
  EXPECT_EQ(parsed(Json(mistral).set("sliding_window", nullptr)).window, 0);
  // As wide as the longest sequence, or that of the class, 4096: it cannot bind.
  EXPECT_EQ(parsed(Json(mistral).set("sliding_window", 512)).window, 0);
  EXPECT_EQ(parsed(mistral).window, 0);
  EXPECT_EQ(parsed(Json(mistral).set("max_position_embeddings", 32768)).window, 4096);
  EXPECT_THAT(refused(Json(mistral).set("sliding_window", 0)), HasSubstr("sliding_window is 0"));
  EXPECT_THAT(
      refused(Json(mistral)
                  .set("sliding_window", 256)
                  .set("layer_types", Json::array({"full_attention", "sliding_attention"}))),
      HasSubstr("a model of type mistral has its window in every layer"));
}

TEST(PositionConfigTest, ReadsTheWindowOfQwen2FromTheLayerItBeginsAt) {
  const Json qwen = config_of("qwen2").set("sliding_window", 256);
  EXPECT_EQ(parsed(qwen).window, 0);
  EXPECT_EQ(parsed(Json(qwen).set("use_sliding_window", false)).window, 0);
  const Json used = Json(qwen).set("use_sliding_window", true);
  EXPECT_EQ(parsed(used).window, 0) << "it begins at layer 28";
  const ModelSpec spec = parsed(Json(used).set("max_window_layers", 1));
  EXPECT_EQ(spec.window, 256);
  EXPECT_THAT(spec.local_layers, ElementsAre(false, true));
  EXPECT_FALSE(spec.local(0));
  EXPECT_TRUE(spec.local(1));
  EXPECT_THAT(
      parsed(Json(used).set("layer_types", Json::array({"sliding_attention", "full_attention"})))
          .local_layers,
      ElementsAre(true, false));
}

TEST(PositionConfigTest, RefusesWindowsAndLayersThatTheFamilyHasNot) {
  EXPECT_THAT(refused(m0_config().set("sliding_window", 256)),
              HasSubstr("sliding_window is 256, a model of type llama has no window"));
  EXPECT_EQ(parsed(m0_config().set("sliding_window", 4096)).window, 0);
  EXPECT_THAT(refused(config_of("mistral").set("layer_types", Json::array({"full_attention"}))),
              HasSubstr("expected a list of 2 kinds of layer"));
  EXPECT_THAT(refused(config_of("granite").set("layer_types", Json::array({"mamba", "attention"}))),
              HasSubstr("state-space (Mamba) layers are not supported yet"));
  EXPECT_THAT(refused(config_of("mistral").set(
                  "layer_types", Json::array({"chunked_attention", "full_attention"}))),
              HasSubstr("only full_attention and sliding_attention are supported"));
}

TEST(PositionConfigTest, CountsOnlyThePositionsThatAWindowShows) {
  ModelSpec spec = parsed(m0_config());
  spec.window = 3;
  // 1 + 2 + 3 * 8 = 27 of ten tokens.
  EXPECT_DOUBLE_EQ(training_flops_per_token(spec, 10).attention, 2.0 * 2 * 2 * 16 * 2.7);
  spec.local_layers = {true, false};
  EXPECT_DOUBLE_EQ(training_flops_per_token(spec, 10).attention, 2.0 * 2 * 16 * (2.7 + 5.5));
  EXPECT_DOUBLE_EQ(training_flops_per_token(spec, 2).attention, 2.0 * 2 * 2 * 16 * 1.5);
}

TEST(PositionConfigTest, WritesWhatItReadsBack) {
  const Json granite = config_of("granite")
                           .set("embedding_multiplier", 12.0)
                           .set("residual_multiplier", 0.22)
                           .set("logits_scaling", 13.0)
                           .set("attention_multiplier", 0.015625);
  const auto with_block = [](std::string_view text) {
    return m0_config().set("rope_scaling", block(text));
  };
  for (const Json& config :
       {granite, config_of("mistral").set("sliding_window", 100),
        config_of("qwen2")
            .set("sliding_window", 9)
            .set("use_sliding_window", true)
            .set("max_window_layers", 1),
        with_block(R"({"type": "dynamic", "factor": 2})"),
        with_block(R"({"type": "yarn", "factor": 3, "mscale": 0.7, "mscale_all_dim": 0.9,
                       "beta_fast": 20, "truncate": false})"),
        with_block(R"({"type": "longrope", "short_factor": [1, 1.5], "long_factor": [2, 4],
                       "original_max_position_embeddings": 128})")}) {
    const ModelSpec spec = parsed(config);
    const Json written = model_config_json(spec);
    const ModelSpec again = parsed(written);
    EXPECT_EQ(model_config_json(again), written);
    EXPECT_EQ(rope_frequencies(again, 700), rope_frequencies(spec, 700));
    EXPECT_EQ(again.rope_scaling.amplitude, spec.rope_scaling.amplitude);
    EXPECT_EQ(again.window, spec.window);
    EXPECT_EQ(again.local_layers, spec.local_layers);
    EXPECT_EQ(again.logit_divisor, spec.logit_divisor);
    EXPECT_EQ(again.residual_scale, spec.residual_scale);
  }
}

}  // namespace
}  // namespace tunebench::model
