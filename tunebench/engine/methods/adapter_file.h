#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "tunebench/engine/methods/method.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/model/model_spec.h"

// Adapters as PEFT keeps them: a folder with adapter_config.json and adapter_model.safetensors.
namespace tunebench::engine {

/// The method of a folder. Errors: NotFound when it holds no adapter_config.json; those of
/// make_method.
std::unique_ptr<Method> read_adapter_method(const std::filesystem::path& folder);

/// Fills everything that is trained from the folder's tensors. Each must be there and no other.
/// Errors: those of SafetensorsSet; Corrupt with how many fit, one name that was looked for and one
/// that was found, or naming a tensor whose size is another or that belongs to nothing.
void load_adapter(const std::filesystem::path& folder, const Method& method,
                  const model::ModelSpec& spec, const Parameters& parameters);

/// Writes what is trained, in float32, and the settings. The folder is made when it is not there.
/// Errors: Io.
void save_adapter(const std::filesystem::path& folder, const Method& method,
                  const model::ModelSpec& spec, const Parameters& parameters,
                  std::string_view base_model);

}  // namespace tunebench::engine
