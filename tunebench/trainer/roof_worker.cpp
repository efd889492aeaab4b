#include <cstdio>
#include <memory>

#include <fmt/core.h>

#include "tunebench/engine/ops/ops.h"
#include "tunebench/engine/train/matrix_rate.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {

int run_roof_worker() {
  constexpr double kSeconds = 0.25;
  const std::unique_ptr<engine::Ops> ops = engine::make_cpu_ops();
  fmt::print("{:.1f}\n", engine::matrix_rate_gflops(*ops, kSeconds));
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace tunebench::trainer
