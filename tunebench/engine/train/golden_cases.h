#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/data/batch.h"
#include "tunebench/engine/core/matrix.h"
#include "tunebench/model/model_source.h"
#include "tunebench/model/safetensors.h"

// The recorded models that tests of whole steps run on.
namespace tunebench::engine {

/// "family/case" of each folder below `root` with recorded values of a model, or with another
/// file.
inline std::vector<std::string> golden_cases(const std::filesystem::path& root,
                                             const char* with_file = "batch.json") {
  std::vector<std::string> cases;
  for (const auto& file : std::filesystem::recursive_directory_iterator(root)) {
    if (file.path().filename() == with_file) {
      cases.push_back(file.path().parent_path().lexically_relative(root).string());
    }
  }
  std::sort(cases.begin(), cases.end());
  return cases;
}

// Both sides compute in float32 in different orders.
inline constexpr double kTensorTolerance = 1e-4;
inline constexpr double kLossTolerance = 1e-5;

inline std::vector<std::int32_t> integers(const Json& list) {
  std::vector<std::int32_t> numbers;
  for (const Json& number : list.as_array()) {
    numbers.push_back(static_cast<std::int32_t>(number.as_int()));
  }
  return numbers;
}

inline Matrix stored_matrix(const model::SafetensorsSet& set, const std::string& name,
                            const View& like) {
  const model::StoredTensor* const tensor = set.find(name);
  TB_CHECK(tensor != nullptr && tensor->elements() == like.elements());
  Matrix matrix(like.rows, like.cols, DType::F32);
  set.read_float32(*tensor, {matrix.view().f32(), static_cast<std::size_t>(like.elements())});
  return matrix;
}

/// Where a gradient is zero but for rounding - keys that are not rotated do not depend on their
/// bias - AdamW makes steps of full size of the rounding, and neither side's are right. There
/// `got` becomes `wanted`. Returns how far apart they were.
inline double take_out_noise(View got, View wanted, View gradient) {
  constexpr double kNoise = 1e-5;
  double largest = 0;
  for (std::int64_t i = 0; i < gradient.elements(); ++i) {
    largest = std::max(largest, std::abs(Matrix::element(gradient, i)));
  }
  double farthest = 0;
  for (std::int64_t i = 0; i < gradient.elements(); ++i) {
    if (std::abs(Matrix::element(gradient, i)) < kNoise * largest) {
      const double target = Matrix::element(wanted, i);
      farthest = std::max(farthest, std::abs(Matrix::element(got, i) - target));
      Matrix::set_element(got, i, target);
    }
  }
  return farthest;
}

/// A recorded model and how the tests of it are called: "llama/tied", "cpu" to llama_tied_cpu.
inline std::string golden_name(const std::tuple<std::string, std::string>& param) {
  std::string name = std::get<0>(param) + "_" + std::get<1>(param);
  std::replace_if(
      name.begin(), name.end(), [](char letter) { return letter == '-' || letter == '/'; }, '_');
  return name;
}

/// The batch that a recorded document holds.
inline data::MicroBatch recorded_batch(const Json& recorded) {
  data::MicroBatch batch;
  batch.samples = recorded.at("samples").as_int();
  batch.length = recorded.at("length").as_int();
  batch.ids = integers(recorded.at("ids"));
  batch.labels = integers(recorded.at("labels"));
  if (const Json* rows = recorded.find("real_rows")) {
    batch.lengths.resize(static_cast<std::size_t>(batch.samples));
    for (const std::int32_t row : integers(*rows)) {
      ++batch.lengths[static_cast<std::size_t>(row / batch.length)];
    }
  }
  return batch;
}

/// Random weights in place of the folder's two layers: so many layers that each rung needs less
/// memory than the one before it.
inline void make_deep(model::ModelSource& source) {
  constexpr std::int64_t kLayers = 8;
  source.folder.reset();
  source.spec.initializer_range = 0.2;
  source.spec.layers = kLayers;
  for (std::size_t layer = 0; !source.spec.local_layers.empty() && layer + 2 < kLayers; ++layer) {
    source.spec.local_layers.push_back(source.spec.local_layers[layer]);
  }
}

}  // namespace tunebench::engine
