#pragma once

#include <vector>

#include "tunebench/model/model_source.h"

namespace tunebench::model {

/// The shapes of known_models() whose reason is empty, without the tokens of presets().
std::vector<Preset> reference_models();

}  // namespace tunebench::model
