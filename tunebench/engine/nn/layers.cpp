#include "tunebench/engine/nn/layers.h"

namespace tunebench::engine {

// Out of line, so that the class's tables are made once, here.
Adapter::~Adapter() = default;

void BaseMatrix::forward(const Exec& exec, View x, View y) const {
  exec.ops.gemm(false, true, x, dense_, y, false);
}

void BaseMatrix::backward(const Exec& exec, View dy, View dx) const {
  exec.ops.gemm(false, false, dy, dense_, dx, false);
}

void Affine::forward(const Exec& exec, View x, View y) const {
  matrix_.forward(exec, x, y);
  if (bias_.exists()) {
    exec.ops.add_bias(bias_.value, y);
  }
}

void Affine::backward(const Exec& exec, View dy, View x, View dx) const {
  for (const Parameter::Part& part : weight_.parts) {
    exec.ops.gemm(true, false, dy.col_range(part.first, part.gradient.rows), x, part.gradient,
                  exec.accumulate);
  }
  for (const Parameter::Part& part : bias_.parts) {
    exec.ops.bias_backward(dy.col_range(part.first, part.gradient.cols), part.gradient,
                           exec.accumulate);
  }
  matrix_.backward(exec, dy, dx);
}

void Linear::forward(const Exec& exec, View x, View y) const {
  if (adapter_ != nullptr) {
    adapter_->forward(exec, base_, x, y);
  } else {
    base_.forward(exec, x, y);
  }
}

void Linear::backward(const Exec& exec, View dy, View x, View dx) const {
  if (adapter_ != nullptr) {
    adapter_->backward(exec, base_, dy, x, dx);
  } else {
    base_.backward(exec, dy, x, dx);
  }
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
    const bool both = weight_.trained() && bias_.trained();
    exec.ops.layer_norm_backward(dy, x, weight_.value, stats, dx, both ? weight_.gradient : View{},
                                 both ? bias_.gradient : View{}, exec.accumulate);
    if (!both && bias_.trained()) {
      exec.ops.bias_backward(dy, bias_.gradient, exec.accumulate);
    }
  } else {
    exec.ops.rms_norm_backward(dy, x, spec_.weight(weight_), stats, dx, weight_.gradient,
                               exec.accumulate);
  }
}

}  // namespace tunebench::engine
