#pragma once

#include <string_view>

#include "tunebench/model/model_spec.h"

namespace tunebench::outside {

/// For trainers with a model builder of their own, which is told a shape: a Llama without biases,
/// windows and scales. Errors: Unsupported naming the trainer and what it does not have.
void check_llama_shape(const model::ModelSpec& spec, std::string_view trainer);

}  // namespace tunebench::outside
