#pragma once

#include <string>

#include "tunebench/base/json.h"

namespace tunebench::outside {

/// A value as the block-style YAML that trainers' files are written in. Readers of YAML 1.1 take
/// 1e-05 for a word, so numbers have a point, and texts stand in quotes where such a reader would
/// take them for something else.
std::string yaml_text(const Json& value);

}  // namespace tunebench::outside
