#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/model/model_spec.h"

namespace tunebench::model {

/// A built-in shape whose weights are drawn from a seed.
struct Preset {
  std::string name;
  std::string description;
  ModelSpec spec;
};

/// smollm2-135m, tiny (two small layers, a step takes about a millisecond), then every known model
/// whose shape is published and supported.
const std::vector<Preset>& presets();

/// A name of the model map of the reference system that this program knows of.
struct KnownModel {
  std::string name;
  std::string source;  ///< public hub id, or empty when it was a folder of one cluster
  std::string reason;  ///< why there is no preset of it; empty: there is
};
const std::vector<KnownModel>& known_models();

/// Where a point's model comes from: a preset (random weights), a Hugging Face folder, or a model
/// of the Hugging Face cache, which is such a folder.
struct ModelSource {
  ModelSpec spec;
  std::optional<std::filesystem::path> folder;  ///< empty for a preset
  /// Changes when the shape or the weights change: for a preset its shape; for a folder
  /// config.json, tokenizer.json, the safetensors headers, sizes and modification times.
  std::string fingerprint;
  [[nodiscard]] bool random_weights() const { return !folder.has_value(); }
};

/// Resolves `model_name`: a preset name, else a path of a folder with config.json, else
/// "org/name[@revision]" of the Hugging Face cache ($HF_HOME), else a known name whose folder or
/// cached model is here. Weights are checked against the shape (names, shapes, sizes, offsets), not
/// read; nothing is fetched.
/// Errors: NotFound with the nearest preset name, or with the command that gets it; Unsupported for
/// a known model that has no preset, with the reason; InvalidInput or Corrupt with the file's name.
ModelSource resolve_model(std::string_view model_name);

}  // namespace tunebench::model
