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

void Norm::forward(const Exec& exec, View x, View y, View stats) const {
  if (layer()) {
    exec.ops.layer_norm(x, weight_.value, bias_.value, spec_.epsilon, y, stats);
  } else {
    exec.ops.rms_norm(x, spec_.weight(weight_), spec_.epsilon, y, stats);
  }
}

void Norm::forward_sum(const Exec& exec, View x, View delta, View sum, View y, View stats) const {
  if (layer()) {
    exec.ops.add_layer_norm(x, delta, weight_.value, bias_.value, spec_.epsilon, sum, y, stats);
  } else {
    exec.ops.add_rms_norm(x, delta, spec_.weight(weight_), spec_.epsilon, sum, y, stats);
  }
}

void Norm::backward(const Exec& exec, View dy, View x, View stats, View dx) const {
  if (layer()) {
    exec.ops.layer_norm_backward(dy, x, weight_.value, stats, dx, weight_.gradient, bias_.gradient,
                                 exec.accumulate);
  } else {
    exec.ops.rms_norm_backward(dy, x, spec_.weight(weight_), stats, dx, weight_.gradient,
                               exec.accumulate);
  }
}

}  // namespace tunebench::engine
