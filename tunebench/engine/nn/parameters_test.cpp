#include "tunebench/engine/nn/parameters.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::engine {
namespace {

model::ModelSpec small_spec() {
  model::ModelSpec spec;
  spec.vocabulary = 11;
  spec.width = 8;
  spec.layers = 2;
  spec.heads = 4;
  spec.kv_heads = 2;
  spec.head_width = 3;
  spec.feed_forward = 5;
  return spec;
}

/// Shape variants: each switch that changes which tensors exist.
std::vector<model::ModelSpec> variants() {
  std::vector<model::ModelSpec> specs(5, small_spec());
  specs[1].tied_head = true;
  specs[2].qkv_bias = true;
  specs[3].output_bias = true;
  specs[4].mlp_bias = true;
  return specs;
}

TEST(ParametersTest, ListsExactlyTheTensorsOfACheckpoint) {
  for (const model::ModelSpec& spec : variants()) {
    Arena arena = Arena::plan_only();
    const Parameters parameters(spec, DType::F32, arena);
    std::vector<std::string> wanted;
    for (const model::TensorShape& tensor : model::tensor_shapes(spec)) {
      wanted.push_back(tensor.name + " " + std::to_string(tensor.elements()));
    }
    std::vector<std::string> got;
    for (const Parameters::Named& named : parameters.named()) {
      got.push_back(named.name + " " + std::to_string(named.parameter.value.elements()));
    }
    EXPECT_THAT(got, testing::UnorderedElementsAreArray(wanted));
  }
}

TEST(ParametersTest, PutsWhatDecaysFirstAndNormsAndBiasesLast) {
  model::ModelSpec spec = small_spec();
  spec.qkv_bias = true;
  Arena plan = Arena::plan_only();
  static_cast<void>(Parameters(spec, DType::F32, plan));
  Arena arena = Arena::reserve(plan.persistent_bytes(), 0);
  const Parameters parameters(spec, DType::F32, arena);
  ASSERT_EQ(parameters.trained().size(), 2U);
  EXPECT_TRUE(parameters.trained()[0].decays);
  EXPECT_FALSE(parameters.trained()[1].decays);
  const float* const border = parameters.trained()[1].values.f32();
  for (const Parameters::Named& named : parameters.named()) {
    const bool decays = named.name.find("norm") == std::string::npos &&
                        named.name.find("bias") == std::string::npos;
    EXPECT_EQ(named.parameter.value.f32() < border, decays) << named.name;
  }
}

TEST(ParametersTest, FusedProjectionsAreTheNamedOnesOneAfterAnother) {
  Arena plan = Arena::plan_only();
  static_cast<void>(Parameters(small_spec(), DType::F32, plan));
  Arena arena = Arena::reserve(plan.persistent_bytes(), 0);
  const Parameters parameters(small_spec(), DType::F32, arena);
  const View qkv = parameters.blocks()[1].qkv.value;
  const auto named = [&](const char* name) {
    return parameters.find(std::string("model.layers.1.") + name).parameter.value;
  };
  EXPECT_EQ(named("self_attn.q_proj.weight").data, qkv.data);
  EXPECT_EQ(named("self_attn.k_proj.weight").data, qkv.row_range(12, 1).data);
  EXPECT_EQ(named("self_attn.v_proj.weight").data, qkv.row_range(18, 1).data);
  EXPECT_EQ(named("mlp.up_proj.weight").data,
            parameters.blocks()[1].gate_up.value.row_range(5, 1).data);
}

TEST(ParametersTest, ATiedHeadIsTheEmbedding) {
  model::ModelSpec spec = small_spec();
  spec.tied_head = true;
  Arena plan = Arena::plan_only();
  static_cast<void>(Parameters(spec, DType::F64, plan));
  Arena arena = Arena::reserve(plan.persistent_bytes(), 0);
  const Parameters parameters(spec, DType::F64, arena);
  EXPECT_EQ(parameters.head().value.data, parameters.embedding().value.data);
  EXPECT_EQ(parameters.head().gradient.data, parameters.embedding().gradient.data);
  try {
    static_cast<void>(parameters.find("lm_head.weight"));
    FAIL() << "found a tied head";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_EQ(error.message(), "the model has no tensor 'lm_head.weight'");
  }
}

}  // namespace
}  // namespace tunebench::engine
