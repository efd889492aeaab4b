// A step of a tiny model of each kind against what PyTorch and transformers computed
// (tools/record_golden.py).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/engine/core/compare.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/engine/train/fine_tuning.h"
#include "tunebench/engine/train/golden_cases.h"
#include "tunebench/engine/train/test_backends.h"
#include "tunebench/model/model_source.h"
#include "tunebench/model/safetensors.h"

namespace tunebench::engine {
namespace {

// Both sides compute in float32 in different orders.
constexpr double kTensorTolerance = 1e-4;
constexpr double kLossTolerance = 1e-5;

std::vector<std::int32_t> integers(const Json& list) {
  std::vector<std::int32_t> numbers;
  for (const Json& number : list.as_array()) {
    numbers.push_back(static_cast<std::int32_t>(number.as_int()));
  }
  return numbers;
}

Matrix stored_matrix(const model::SafetensorsSet& set, const std::string& name, const View& like) {
  const model::StoredTensor* const tensor = set.find(name);
  TB_CHECK(tensor != nullptr && tensor->elements() == like.elements());
  Matrix matrix(like.rows, like.cols, DType::F32);
  set.read_float32(*tensor, {matrix.view().f32(), static_cast<std::size_t>(like.elements())});
  return matrix;
}

/// Where a gradient is zero but for rounding - keys that are not rotated do not depend on their
/// bias - AdamW makes steps of full size of the rounding, and neither side's are right. There
/// `got` becomes `wanted`, after a look that it went no further than `farthest`.
void take_out_noise(View got, View wanted, View gradient, double farthest) {
  constexpr double kNoise = 1e-5;
  double largest = 0;
  for (std::int64_t i = 0; i < gradient.elements(); ++i) {
    largest = std::max(largest, std::abs(Matrix::element(gradient, i)));
  }
  for (std::int64_t i = 0; i < gradient.elements(); ++i) {
    if (std::abs(Matrix::element(gradient, i)) < kNoise * largest) {
      const double target = Matrix::element(wanted, i);
      EXPECT_LE(std::abs(Matrix::element(got, i) - target), farthest);
      Matrix::set_element(got, i, target);
    }
  }
}

class GoldenTest : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  [[nodiscard]] model::SafetensorsSet stored(const char* file) const {
    return model::SafetensorsSet::open_file(folder_ / file);
  }
  [[nodiscard]] double number(const char* key) const { return recorded_.at(key).as_double(); }
  [[nodiscard]] double recorded_loss(std::size_t step) const {
    return recorded_.at("losses").as_array().at(step).as_double();
  }
  [[nodiscard]] double recorded_norm(std::size_t step) const {
    return recorded_.at("grad_norms").as_array().at(step).as_double();
  }

  [[nodiscard]] data::MicroBatch batch() const {
    data::MicroBatch batch;
    batch.samples = recorded_.at("samples").as_int();
    batch.length = recorded_.at("length").as_int();
    batch.ids = integers(recorded_.at("ids"));
    batch.labels = integers(recorded_.at("labels"));
    batch.lengths.resize(static_cast<std::size_t>(batch.samples));
    for (const std::int32_t row : integers(recorded_.at("real_rows"))) {
      ++batch.lengths[static_cast<std::size_t>(row / batch.length)];
    }
    return batch;
  }

  [[nodiscard]] FineTuning fine_tuning() const {
    FineTuningOptions options;
    options.max_samples = recorded_.at("samples").as_int();
    options.max_length = recorded_.at("length").as_int();
    options.torch_dtype = "float32";
    options.weight_decay = number("weight_decay");
    options.max_grad_norm = number("max_grad_norm");
    options.schedule = {.kind = "constant", .peak = number("learning_rate"), .total_steps = 3};
    return {source_, options, make_test_ops(std::get<1>(GetParam()))};
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (const model::TensorShape& tensor : model::tensor_shapes(source_.spec)) {
      all.push_back(tensor.name);
    }
    return all;
  }

  std::filesystem::path folder_ = std::filesystem::path(TB_GOLDEN_FOLDER) / std::get<0>(GetParam());
  Json recorded_ = Json::parse(read_file(folder_ / "batch.json"), "batch.json");
  model::ModelSource source_ = model::resolve_model(folder_.string());
};

TEST_P(GoldenTest, NamesTheVersionsThatMadeIt) {
  EXPECT_FALSE(recorded_.at("torch").as_string().empty());
  EXPECT_FALSE(recorded_.at("transformers").as_string().empty());
}

TEST_P(GoldenTest, LogitsAreThoseOfPyTorch) {
  FineTuning tuning = fine_tuning();
  Matrix logits(batch().tokens(), source_.spec.vocabulary, DType::F32);
  tuning.logits(batch(), logits.view());
  // PyTorch hides padding from padding, so those rows differ and mean nothing.
  const std::vector<std::int32_t> rows = integers(recorded_.at("real_rows"));
  Matrix real(std::ssize(rows), source_.spec.vocabulary, DType::F32);
  make_ref_ops(DType::F32)->gather_rows(logits.view(), rows, real.view());
  Matrix wanted = stored_matrix(stored("logits.safetensors"), "logits", real.view());
  EXPECT_LT(relative_difference(real.view(), wanted.view()), kTensorTolerance);
}

TEST_P(GoldenTest, LossNormAndEveryGradientAreThoseOfPyTorch) {
  FineTuning tuning = fine_tuning();
  const StepResult result = tuning.step(std::vector{batch()});
  EXPECT_NEAR(result.loss, recorded_loss(0), kLossTolerance * recorded_loss(0));
  EXPECT_NEAR(result.grad_norm, recorded_norm(0), kLossTolerance * recorded_norm(0));
  const model::SafetensorsSet gradients = stored("gradients.safetensors");
  for (const std::string& name : names()) {
    const View got = tuning.gradient(name);
    Matrix wanted = stored_matrix(gradients, name, got);
    EXPECT_LT(relative_difference(got, wanted.view()), kTensorTolerance) << name;
  }
}

TEST_P(GoldenTest, ParametersAfterThreeClippedAdamwStepsAreThoseOfPyTorch) {
  FineTuning tuning = fine_tuning();
  for (std::size_t step = 0; step < 3; ++step) {
    const StepResult result = tuning.step(std::vector{batch()});
    EXPECT_NEAR(result.loss, recorded_loss(step), kTensorTolerance * recorded_loss(step));
    EXPECT_NEAR(result.grad_norm, recorded_norm(step), kTensorTolerance * recorded_norm(step));
    EXPECT_GT(result.grad_norm, number("max_grad_norm")) << "this step was not clipped";
  }
  const model::SafetensorsSet trained = stored("trained.safetensors");
  const model::SafetensorsSet gradients = stored("gradients.safetensors");
  const double farthest = 2.0 * 3.0 * 1.1 * number("learning_rate");
  for (const std::string& name : names()) {
    const View got = tuning.parameter(name);
    Matrix wanted = stored_matrix(trained, name, got);
    if (name.ends_with(".bias")) {
      Matrix gradient = stored_matrix(gradients, name, got);
      take_out_noise(got, wanted.view(), gradient.view(), farthest);
    }
    EXPECT_LT(relative_difference(got, wanted.view()), kTensorTolerance) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenTest,
                         testing::Combine(testing::ValuesIn(golden_cases(TB_GOLDEN_FOLDER)),
                                          testing::ValuesIn(test_backends())),
                         [](const testing::TestParamInfo<GoldenTest::ParamType>& test) {
                           std::string name =
                               std::get<0>(test.param) + "_" + std::get<1>(test.param);
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char letter) { return letter == '-' || letter == '/'; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace tunebench::engine
