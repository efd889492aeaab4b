#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::analyze {

/// Names of inputs that differ between the points, in the order of the property table; the required
/// ones when nothing differs.
std::vector<std::string> varying_inputs(std::span<const experiment::Inputs> points);

/// "length=1024 batch=4".
std::string point_title(const experiment::Inputs& inputs, std::span<const std::string> names);

/// Text of an input's value for people: strings without quotes.
std::string input_text(const Json& value);

}  // namespace tunebench::analyze
