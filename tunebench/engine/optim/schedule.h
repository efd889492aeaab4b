#pragma once

#include <cstdint>
#include <string>

namespace tunebench::engine {

/// Learning rate of a step; HF's convention: the first step of a warm-up has rate 0.
/// Source: transformers.optimization get_cosine_schedule_with_warmup, get_linear_...,
/// get_constant_schedule_with_warmup.
struct Schedule {
  std::string kind = "cosine";  ///< cosine, linear, constant
  double peak = 1e-5;
  std::int64_t total_steps = 1;
  std::int64_t warmup_steps = 0;
  /// step is 0-based; beyond total_steps the last rate stays. Always finite, never above the peak.
  /// Errors: InvalidInput for an unknown kind.
  [[nodiscard]] double rate(std::int64_t step) const;
};

/// ceil(ratio * total_steps). Errors: InvalidInput when the ratio is not in 0...1.
std::int64_t warmup_steps(double ratio, std::int64_t total_steps);

}  // namespace tunebench::engine
