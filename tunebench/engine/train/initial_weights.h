#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "tunebench/engine/nn/parameters.h"
#include "tunebench/model/model_source.h"

namespace tunebench::engine {

/// How weights are rounded before they become float32 masters.
enum class WeightRounding { None, Bfloat16, Half };

/// "float32", "bfloat16", "float16". Errors: InvalidInput for another word.
WeightRounding weight_rounding(std::string_view torch_dtype);

/// Fills every parameter from the folder's safetensors.
/// Errors: those of SafetensorsSet; Corrupt naming a tensor that is missing or of another size.
void load_weights(const model::ModelSource& source, WeightRounding rounding,
                  const Parameters& parameters);

/// Draws every parameter: projections and embeddings normal(0, initializer_range), norms 1, biases
/// 0. Depends on seed and tensor names only, not on threads.
void draw_weights(const model::ModelSpec& spec, std::uint64_t seed, WeightRounding rounding,
                  const Parameters& parameters);

/// Element `first + i` of tensor `name`'s normal numbers into out[i]; first is a multiple of 4.
void draw_normal(std::uint64_t seed, std::string_view name, std::int64_t first, double deviation,
                 std::span<float> out);

}  // namespace tunebench::engine
