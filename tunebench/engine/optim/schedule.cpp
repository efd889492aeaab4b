#include "tunebench/engine/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::engine {

double Schedule::rate(std::int64_t step) const {
  if (kind != "cosine" && kind != "linear" && kind != "constant") {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("learning-rate schedule '{}' is not known; choose cosine, linear or "
                            "constant",
                            kind));
  }
  if (step < warmup_steps) {
    return peak * static_cast<double>(step) / static_cast<double>(warmup_steps);
  }
  if (kind == "constant") {
    return peak;
  }
  const auto falling = static_cast<double>(std::max<std::int64_t>(1, total_steps - warmup_steps));
  const double progress = std::min(1.0, static_cast<double>(step - warmup_steps) / falling);
  return kind == "linear" ? peak * (1.0 - progress)
                          : peak * 0.5 * (1.0 + std::cos(std::numbers::pi * progress));
}

std::int64_t warmup_steps(double ratio, std::int64_t total_steps) {
  if (!(ratio >= 0.0 && ratio <= 1.0)) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("warmup_ratio must be between 0 and 1, not {}", shortest(ratio)));
  }
  return static_cast<std::int64_t>(std::ceil(ratio * static_cast<double>(total_steps)));
}

}  // namespace tunebench::engine
