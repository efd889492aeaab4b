#pragma once

#include <cstdint>

#include "tunebench/engine/core/arena.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {

/// What a layer's call needs besides its views.
struct Exec {
  Ops& ops;
  Arena& arena;             ///< for scratch
  bool accumulate = false;  ///< add to parameter gradients instead of overwriting them
};

/// y = x W^T + b.
class Linear {
 public:
  Linear(Parameter weight, Parameter bias) : weight_(weight), bias_(bias) {}

  void forward(const Exec& exec, View x, View y) const;
  /// dx = dy W; gradients of weight and bias.
  void backward(const Exec& exec, View dy, View x, View dx) const;

 private:
  Parameter weight_;
  Parameter bias_;
};

/// Root-mean-square normalisation with a weight, of the residual stream.
class RmsNorm {
 public:
  RmsNorm(Parameter weight, double epsilon) : weight_(weight), epsilon_(epsilon) {}

  void forward(const Exec& exec, View x, View y, View rstd) const;
  /// sum = x + delta, and y its normalisation.
  void forward_sum(const Exec& exec, View x, View delta, View sum, View y, View rstd) const;
  /// dx += gradient; x is what was normalised.
  void backward(const Exec& exec, View dy, View x, View rstd, View dx) const;

 private:
  Parameter weight_;
  double epsilon_;
};

}  // namespace tunebench::engine
