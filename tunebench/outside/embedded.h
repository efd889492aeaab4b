#pragma once

#include <string_view>

namespace tunebench::outside {

/// A file of python/ or locks/, carried inside the program: "tunebench_events.py".
/// Errors: Internal when there is none of that name.
std::string_view embedded_file(std::string_view name);

}  // namespace tunebench::outside
