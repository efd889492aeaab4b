#include "tunebench/engine/train/initial_weights.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/model/safetensors.h"

namespace tunebench::engine {
namespace {

model::ModelSpec small_spec() {
  model::ModelSpec spec;
  spec.vocabulary = 7;
  spec.width = 4;
  spec.layers = 1;
  spec.heads = 2;
  spec.kv_heads = 1;
  spec.head_width = 2;
  spec.feed_forward = 6;
  spec.qkv_bias = true;
  return spec;
}

/// Parameters with memory of their own.
struct Owned {
  Owned(const model::ModelSpec& spec, DType dtype)
      : arena(Arena::reserve(1 << 16, 0)), parameters(spec, dtype, arena) {}
  [[nodiscard]] View value(const std::string& name) const {
    return parameters.find(name).parameter.value;
  }
  Arena arena;
  Parameters parameters;
};

/// A folder with model.safetensors of float32 tensors, element i of each being i / 3.
class StoredWeights {
 public:
  explicit StoredWeights(std::vector<model::TensorShape> shapes) : shapes_(std::move(shapes)) {
    std::vector<model::TensorToStore> tensors;
    for (const model::TensorShape& shape : shapes_) {
      std::vector<float>& values = values_.emplace_back();
      for (std::int64_t i = 0; i < shape.elements(); ++i) {
        values.push_back(static_cast<float>(i) / 3.0F);
      }
      tensors.push_back({shape.name, model::StoredType::F32, shape.shape,
                         std::as_bytes(std::span<const float>(values))});
    }
    model::write_safetensors(folder_.path() / "model.safetensors", tensors);
  }
  [[nodiscard]] model::ModelSource source() const {
    model::ModelSource source;
    source.spec = small_spec();
    source.folder = folder_.path();
    return source;
  }

 private:
  TemporaryFolder folder_;
  std::vector<model::TensorShape> shapes_;
  std::vector<std::vector<float>> values_;
};

TEST(InitialWeightsTest, LoadsEachTensorToItsPlace) {
  const StoredWeights stored(model::tensor_shapes(small_spec()));
  for (const DType dtype : {DType::F32, DType::F64}) {
    const Owned owned(small_spec(), dtype);
    load_weights(stored.source(), WeightRounding::None, owned.parameters);
    for (const Parameters::Named& named : owned.parameters.named()) {
      for (std::int64_t i = 0; i < named.parameter.value.elements(); ++i) {
        EXPECT_EQ(Matrix::element(named.parameter.value, i),
                  static_cast<double>(static_cast<float>(i) / 3.0F))
            << named.name << " " << i;
      }
    }
  }
}

TEST(InitialWeightsTest, RoundsToTheStoredTypeThatWasAskedFor) {
  const StoredWeights stored(model::tensor_shapes(small_spec()));
  const Owned owned(small_spec(), DType::F32);
  load_weights(stored.source(), WeightRounding::Bfloat16, owned.parameters);
  EXPECT_EQ(owned.value("model.norm.weight").f32()[1], 0.333984375F);
  load_weights(stored.source(), WeightRounding::Half, owned.parameters);
  EXPECT_EQ(owned.value("model.norm.weight").f32()[1], 0.333251953125F);
}

TEST(InitialWeightsTest, NamesATensorThatIsMissing) {
  std::vector<model::TensorShape> shapes = model::tensor_shapes(small_spec());
  std::erase_if(shapes, [](const auto& shape) { return shape.name == "model.norm.weight"; });
  const StoredWeights stored(shapes);
  const Owned owned(small_spec(), DType::F32);
  try {
    load_weights(stored.source(), WeightRounding::None, owned.parameters);
    FAIL() << "loaded without a norm";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Corrupt);
    EXPECT_THAT(error.message(), testing::HasSubstr("tensor 'model.norm.weight' is missing"));
  }
}

TEST(InitialWeightsTest, NamesATensorOfAnotherSize) {
  std::vector<model::TensorShape> shapes = model::tensor_shapes(small_spec());
  for (model::TensorShape& shape : shapes) {
    if (shape.name == "model.norm.weight") {
      shape.shape = {5};
    }
  }
  const StoredWeights stored(shapes);
  const Owned owned(small_spec(), DType::F32);
  try {
    load_weights(stored.source(), WeightRounding::None, owned.parameters);
    FAIL() << "loaded a norm of 5 elements";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(),
                testing::HasSubstr("tensor 'model.norm.weight' has 5 elements, not 4"));
  }
}

TEST(InitialWeightsTest, DrawsNormsAsOneAndBiasesAsZero) {
  const Owned owned(small_spec(), DType::F32);
  draw_weights(small_spec(), 1, WeightRounding::None, owned.parameters);
  EXPECT_EQ(owned.value("model.norm.weight").f32()[3], 1.0F);
  EXPECT_EQ(owned.value("model.layers.0.self_attn.q_proj.bias").f32()[0], 0.0F);
  EXPECT_NE(owned.value("model.layers.0.self_attn.q_proj.weight").f32()[0], 0.0F);
}

TEST(InitialWeightsTest, DrawsNormalNumbersOfTheGivenDeviation) {
  std::vector<float> values(1 << 20);
  draw_normal(3, "model.embed_tokens.weight", 0, 0.02, values);
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  for (const float value : values) {
    const double x = double{value} / 0.02;
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  const auto count = static_cast<double>(values.size());
  // Five standard errors of each moment of a normal distribution.
  EXPECT_NEAR(sum / count, 0.0, 5 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1.0, 5 * std::sqrt(2 / count));
  EXPECT_NEAR(fourths / count, 3.0, 5 * std::sqrt(96 / count));
}

TEST(InitialWeightsTest, DrawsAnyPieceWithTheSameBits) {
  std::vector<float> whole(1003);
  draw_normal(3, "a", 0, 1.0, whole);
  std::vector<float> piece(503);
  draw_normal(3, "a", 500, 1.0, piece);
  EXPECT_EQ(std::memcmp(piece.data(), whole.data() + 500, piece.size() * sizeof(float)), 0);
}

TEST(InitialWeightsTest, DrawsOtherNumbersForAnotherTensorOrSeed) {
  std::array<std::vector<float>, 3> values = {std::vector<float>(8), std::vector<float>(8),
                                              std::vector<float>(8)};
  draw_normal(3, "a", 0, 1.0, values[0]);
  draw_normal(3, "b", 0, 1.0, values[1]);
  draw_normal(4, "a", 0, 1.0, values[2]);
  EXPECT_NE(values[0], values[1]);
  EXPECT_NE(values[0], values[2]);
}

TEST(InitialWeightsTest, KnowsTheWordsForStoredTypes) {
  EXPECT_EQ(weight_rounding("float32"), WeightRounding::None);
  EXPECT_EQ(weight_rounding("bfloat16"), WeightRounding::Bfloat16);
  EXPECT_EQ(weight_rounding("float16"), WeightRounding::Half);
  try {
    static_cast<void>(weight_rounding("int8"));
    FAIL() << "accepted int8";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "torch_dtype 'int8' is not known; choose bfloat16, float16 or float32");
  }
}

}  // namespace
}  // namespace tunebench::engine
