#include "tunebench/engine/nn/layers.h"

namespace tunebench::engine {

void Linear::forward(const Exec& exec, View x, View y) const {
  exec.ops.gemm(false, true, x, weight_.value, y, false);
  if (bias_.exists()) {
    exec.ops.add_bias(bias_.value, y);
  }
}

void Linear::backward(const Exec& exec, View dy, View x, View dx) const {
  exec.ops.gemm(true, false, dy, x, weight_.gradient, exec.accumulate);
  if (bias_.exists()) {
    exec.ops.bias_backward(dy, bias_.gradient, exec.accumulate);
  }
  exec.ops.gemm(false, false, dy, weight_.value, dx, false);
}

void RmsNorm::forward(const Exec& exec, View x, View y, View rstd) const {
  exec.ops.rms_norm(x, weight_.value, epsilon_, y, rstd);
}

void RmsNorm::forward_sum(const Exec& exec, View x, View delta, View sum, View y, View rstd) const {
  exec.ops.add_rms_norm(x, delta, weight_.value, epsilon_, sum, y, rstd);
}

void RmsNorm::backward(const Exec& exec, View dy, View x, View rstd, View dx) const {
  exec.ops.rms_norm_backward(dy, x, weight_.value, rstd, dx, weight_.gradient, exec.accumulate);
}

}  // namespace tunebench::engine
