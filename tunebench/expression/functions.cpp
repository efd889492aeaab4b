#include "tunebench/expression/internal/functions.h"

#include <algorithm>
#include <array>

#include "tunebench/expression/expression.h"

namespace tunebench::expression {
namespace {

constexpr int kMany = 100;

// None of these gives more bytes than it is given, reads anything but its arguments, or gives
// another answer the next time. log is left out: SQLite's is the decimal one, most languages' is
// not.
constexpr std::array<Function, 21> kFunctions = {{
    {"abs", 1, 1},    {"ceil", 1, 1}, {"coalesce", 2, kMany}, {"exp", 1, 1},     {"floor", 1, 1},
    {"ifnull", 2, 2}, {"iif", 3, 3},  {"instr", 2, 2},        {"length", 1, 1},  {"ln", 1, 1},
    {"log10", 1, 1},  {"log2", 1, 1}, {"lower", 1, 1},        {"max", 2, kMany}, {"min", 2, kMany},
    {"nullif", 2, 2}, {"pow", 2, 2},  {"round", 1, 2},        {"sqrt", 1, 1},    {"substr", 2, 3},
    {"upper", 1, 1},
}};

}  // namespace

const Function* find_function(std::string_view name) {
  const auto* found = std::find_if(kFunctions.begin(), kFunctions.end(),
                                   [&](const Function& each) { return each.name == name; });
  return found == kFunctions.end() ? nullptr : found;
}

const std::vector<std::string>& function_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Function& function : kFunctions) {
      all.emplace_back(function.name);
    }
    return all;
  }();
  return names;
}

}  // namespace tunebench::expression
