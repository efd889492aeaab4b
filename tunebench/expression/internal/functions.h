#pragma once

#include <string_view>

namespace tunebench::expression {

/// A function of SQLite that expressions may call.
struct Function {
  std::string_view name;
  int fewest = 0;  ///< arguments; min and max of one would be aggregates
  int most = 0;
};

/// Null pointer when there is none of that name (small letters).
const Function* find_function(std::string_view name);

}  // namespace tunebench::expression
