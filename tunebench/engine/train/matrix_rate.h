#pragma once

#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {

/// GFLOP/s of the fastest of some large float32 matrix products, made one after the other for
/// `seconds` and at least twice: the roof that a training step is compared with.
double matrix_rate_gflops(Ops& ops, double seconds);

}  // namespace tunebench::engine
