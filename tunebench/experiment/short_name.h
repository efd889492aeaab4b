#pragma once

#include <string>
#include <string_view>

namespace tunebench::experiment {

/// What tables, titles and messages call an input: the first long name among its short options
/// ("length" for model_max_length), else its own.
std::string short_name(std::string_view property);

}  // namespace tunebench::experiment
