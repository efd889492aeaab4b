#include "tunebench/engine/methods/adapter_file.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/model/safetensors.h"

namespace tunebench::engine {
namespace {

constexpr std::string_view kConfigFile = "adapter_config.json";
constexpr std::string_view kTensorFile = "adapter_model.safetensors";

/// A tensor of the file and where it lives.
struct StoredPart {
  std::string name;
  std::vector<std::int64_t> shape;
  View value;
};

/// Everything that is trained, under the names of the file: added tensors first.
std::vector<StoredPart> stored_parts(const Method& method, const model::ModelSpec& spec,
                                     const Parameters& parameters) {
  std::vector<StoredPart> parts;
  for (const Parameters::Named& tensor : parameters.added()) {
    const View& value = tensor.parameter.value;
    parts.push_back({tensor.name, {value.rows, value.cols}, value});
  }
  for (model::TensorShape& tensor : model::tensor_shapes(spec)) {
    const Parameter& parameter = parameters.find(tensor.name).parameter;
    if (parameter.trained()) {
      parts.push_back(
          {method.stored_name(spec, tensor.name), std::move(tensor.shape), parameter.value});
    }
  }
  return parts;
}

std::vector<float> float32_of(const View& value) {
  TB_CHECK(value.contiguous());
  if (value.dtype == DType::F32) {
    return {value.f32(), value.f32() + value.elements()};
  }
  std::vector<float> values;
  for (std::int64_t i = 0; i < value.elements(); ++i) {
    values.push_back(static_cast<float>(value.f64()[i]));
  }
  return values;
}

void check_names(const std::vector<StoredPart>& parts, const model::SafetensorsSet& stored,
                 const std::string& file) {
  std::set<std::string, std::less<>> wanted;
  std::string missing;
  std::size_t found = 0;
  for (const StoredPart& part : parts) {
    wanted.insert(part.name);
    if (stored.find(part.name) != nullptr) {
      ++found;
    } else if (missing.empty()) {
      missing = part.name;
    }
  }
  const auto stranger = std::find_if(
      stored.tensors().begin(), stored.tensors().end(),
      [&](const model::StoredTensor& tensor) { return !wanted.contains(tensor.name); });
  const std::string strange =
      stranger == stored.tensors().end() ? std::string() : excerpt(stranger->name, 120);
  if (!missing.empty()) {
    throw Error(ErrorCode::Corrupt,
                fmt::format("{}: {} of {} tensors of the adapter are there; '{}' is missing{}; the "
                            "adapter belongs to another model or was saved from a wrapped one",
                            file, found, parts.size(), missing,
                            strange.empty() ? "" : ", '" + strange + "' is there instead"));
  }
  if (!strange.empty()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: '{}' belongs to nothing that adapter_config.json trains; a module "
                            "that is stored whole stands in modules_to_save there",
                            file, strange));
  }
}

}  // namespace

std::unique_ptr<Method> read_adapter_method(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kConfigFile;
  const std::string label = display_path(file);
  return make_method(Json::parse(read_file(file), label), label);
}

void load_adapter(const std::filesystem::path& folder, const Method& method,
                  const model::ModelSpec& spec, const Parameters& parameters) {
  const std::filesystem::path file = folder / kTensorFile;
  const model::SafetensorsSet stored = model::SafetensorsSet::open_file(file);
  const std::vector<StoredPart> parts = stored_parts(method, spec, parameters);
  check_names(parts, stored, display_path(file));
  std::vector<float> buffer;
  for (const StoredPart& part : parts) {
    const model::StoredTensor& tensor = *stored.find(part.name);
    const View& to = part.value;
    if (tensor.shape != part.shape) {
      throw Error(ErrorCode::Corrupt,
                  fmt::format("{}: '{}' has another shape than the model asks for, {} x {}; the "
                              "adapter belongs to another model",
                              display_path(file), part.name, to.rows, to.cols));
    }
    buffer.resize(static_cast<std::size_t>(to.elements()));
    stored.read_float32(tensor, buffer);
    if (to.dtype == DType::F32) {
      std::copy(buffer.begin(), buffer.end(), to.f32());
    } else {
      std::copy(buffer.begin(), buffer.end(), to.f64());
    }
  }
}

void save_adapter(const std::filesystem::path& folder, const Method& method,
                  const model::ModelSpec& spec, const Parameters& parameters,
                  std::string_view base_model) {
  Json config = method.config_of(spec);
  config.set("base_model_name_or_path", base_model);
  config.set("inference_mode", true);
  write_file_atomically(folder / kConfigFile, config.dump(2) + "\n");
  std::vector<std::vector<float>> memory;
  std::vector<model::TensorToStore> tensors;
  for (const StoredPart& part : stored_parts(method, spec, parameters)) {
    memory.push_back(float32_of(part.value));
    tensors.push_back({.name = part.name,
                       .type = model::StoredType::F32,
                       .shape = part.shape,
                       .bytes = std::as_bytes(std::span(memory.back()))});
  }
  model::write_safetensors(folder / kTensorFile, tensors);
}

}  // namespace tunebench::engine
