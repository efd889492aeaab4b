#pragma once

#include <filesystem>
#include <string_view>

#include "tunebench/model/model_spec.h"
#include "tunebench/model/safetensors.h"

namespace tunebench::model {

/// The tensor of that name, or of that name without its first word: checkpoints that were saved
/// without the head leave "transformer." or "model." out, as those of Bloom do. nullptr: neither.
const StoredTensor* find_weight(const SafetensorsSet& weights, std::string_view name);

/// Compares the stored tensors of `folder` with the shape in `spec` by name, shape and type; values
/// are not read, except that a stored head beside a tied one is compared with the embedding.
/// Whether q, k and v have biases is decided by the file for llama and qwen2 (a config.json of
/// qwen2 need not tell), so `spec.qkv_bias` may change.
/// Errors: InvalidInput naming the tensor; Unsupported for weights of a type that is not read.
void match_weights(const SafetensorsSet& weights, const std::filesystem::path& folder,
                   ModelSpec& spec);

}  // namespace tunebench::model
