#include "tunebench/model/model_spec.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/model/model_source.h"
#include "tunebench/model/rope.h"
#include "tunebench/model/test_folder.h"

namespace tunebench::model {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;

ModelSpec m0(const std::function<void(Json&)>& change = {}) {
  Json config = testing::m0_config();
  if (change) {
    change(config);
  }
  return parse_model_config(config, "config.json");
}

TEST(ModelSpecTest, CountsTheParametersOfSmolLm2Exactly) {
  EXPECT_EQ(parameter_count(presets().front().spec), 134515008);
}

// WGT-01
TEST(ModelSpecTest, CountsATiedHeadOnce) {
  EXPECT_EQ(parameter_count(m0()), 8848);
  EXPECT_EQ(parameter_count(m0([](Json& c) { c.set("tie_word_embeddings", false); })), 13008);
}

TEST(ModelSpecTest, CountsBiases) {
  EXPECT_EQ(parameter_count(
                m0([](Json& c) { c.set("model_type", "qwen2").set("architectures", nullptr); })),
            8912);
  // q 16, k 8, v 8, o 16; gate 32, up 32, down 16: twice
  EXPECT_EQ(parameter_count(m0([](Json& c) { c.set("attention_bias", true); })), 8848 + 2 * 48);
  EXPECT_EQ(parameter_count(m0([](Json& c) { c.set("mlp_bias", true); })), 8848 + 2 * 80);
}

// CFG-03
TEST(ModelSpecTest, UsesAnExplicitHeadWidth) {
  EXPECT_EQ(parameter_count(m0([](Json& c) { c.set("head_dim", 8); })), 10384);
  EXPECT_EQ(parameter_count(m0([](Json& c) { c.set("head_dim", nullptr); })), 8848);
}

TEST(ModelSpecTest, NamesTensorsAsHuggingFaceDoes) {
  const std::vector<TensorShape> shapes =
      tensor_shapes(m0([](Json& c) { c.set("tie_word_embeddings", false); }));
  ASSERT_EQ(shapes.size(), 1 + 2 * 9 + 1 + 1U);
  EXPECT_EQ(shapes.front().name, "model.embed_tokens.weight");
  EXPECT_EQ(shapes.back().name, "lm_head.weight");
  const auto k = std::find_if(shapes.begin(), shapes.end(), [](const TensorShape& tensor) {
    return tensor.name == "model.layers.1.self_attn.k_proj.weight";
  });
  ASSERT_NE(k, shapes.end());
  EXPECT_THAT(k->shape, ElementsAre(8, 16));
}

TEST(ModelSpecTest, CountsTheArithmeticOfATrainingStep) {
  const TrainingFlops flops = training_flops_per_token(m0(), 15);
  EXPECT_DOUBLE_EQ(flops.projections, 2.0 * 2 * (16 * 16 + 8 * 16 + 8 * 16 + 16 * 16));
  EXPECT_DOUBLE_EQ(flops.mlp, 2.0 * 2 * 3 * 16 * 32);
  EXPECT_DOUBLE_EQ(flops.head, 2.0 * 16 * 260);
  // 1 + 2 + ... + 15 = 15 * 8 pairs, 2 matrix products, 4 heads of 4
  EXPECT_DOUBLE_EQ(flops.attention, 2.0 * 2 * 2 * 16 * 8);
  EXPECT_DOUBLE_EQ(flops.forward_backward(), 3.0 * flops.forward());
}

TEST(ModelSpecTest, CountsSixteenBytesOfStateForEachParameter) {
  EXPECT_EQ(state_bytes_full_fine_tuning(m0()), 16 * 8848);
}

TEST(ModelSpecTest, GivesPlainRopeFrequencies) {
  const ModelSpec spec = m0([](Json& c) { c.set("head_dim", 8); });
  EXPECT_THAT(rope_frequencies(spec),
              ElementsAre(DoubleNear(1, 1e-15), DoubleNear(0.1, 1e-15), DoubleNear(0.01, 1e-15),
                          DoubleNear(0.001, 1e-15)));
}

TEST(ModelSpecTest, DividesFrequenciesByALinearFactor) {
  const ModelSpec spec = m0([](Json& c) {
    c.set("head_dim", 8).set("rope_scaling", Json::object({{"type", "linear"}, {"factor", 4}}));
  });
  EXPECT_THAT(rope_frequencies(spec),
              ElementsAre(DoubleNear(0.25, 1e-15), DoubleNear(0.025, 1e-15),
                          DoubleNear(0.0025, 1e-15), DoubleNear(0.00025, 1e-15)));
}

// CFG-01
TEST(ModelSpecTest, StretchesOnlyLongWavesForLlama3) {
  ModelSpec spec = m0([](Json& c) { c.set("head_dim", 8); });
  spec.rope_scaling = {.type = RopeScaling::Type::Llama3,
                       .factor = 8,
                       .low_freq_factor = 1,
                       .high_freq_factor = 4,
                       .original_max_positions = 64};
  EXPECT_THAT(rope_frequencies(spec),
              ElementsAre(DoubleNear(1, 1e-15), DoubleNear(0.013042256, 1e-9),
                          DoubleNear(0.00125, 1e-12), DoubleNear(0.000125, 1e-12)));
}

TEST(ModelSpecTest, MatchesTheLlama31Frequencies) {
  ModelSpec plain;
  plain.head_width = 128;
  plain.rope_theta = 500000;
  ModelSpec scaled = plain;
  scaled.rope_scaling = {.type = RopeScaling::Type::Llama3,
                         .factor = 8,
                         .low_freq_factor = 1,
                         .high_freq_factor = 4,
                         .original_max_positions = 8192};
  const std::vector<double> before = rope_frequencies(plain);
  const std::vector<double> after = rope_frequencies(scaled);
  ASSERT_EQ(after.size(), 64U);
  for (std::size_t i = 0; i <= 28; ++i) {
    EXPECT_EQ(after[i], before[i]) << i;
  }
  EXPECT_NEAR(before[29] / after[29], 1.2075, 5e-5);
  for (std::size_t i = 35; i < 64; ++i) {
    EXPECT_DOUBLE_EQ(after[i], before[i] / 8) << i;
  }
}

}  // namespace
}  // namespace tunebench::model
