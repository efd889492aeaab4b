#pragma once

#include <cstdio>
#include <exception>
#include <string_view>

#include <fmt/core.h>

namespace tunebench::bench {

/// Runs a benchmark and returns its exit code. A failure is one line and exit code 1.
template <typename Run>
int one_line_for_a_failure(std::string_view bench, Run run) {
  try {
    return run();
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", bench, error.what());
    return 1;
  }
}

}  // namespace tunebench::bench
