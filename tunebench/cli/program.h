#pragma once

#include <string>
#include <vector>

#include "tunebench/cli/console.h"

namespace tunebench::cli {

/// Runs the program with the words after its name. Never throws: an Error becomes one line and its
/// exit code.
int run_program(const std::vector<std::string>& words, Console& console);

}  // namespace tunebench::cli
