#pragma once

#include <cstdint>

#include "tunebench/engine/core/arena.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/engine/ops/ops.h"
#include "tunebench/model/model_spec.h"

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

/// What normalises: the kind and what is added to the mean square.
struct NormSpec {
  model::NormKind kind = model::NormKind::Rms;
  double epsilon = 1e-5;
  /// Rows of what a call keeps for its backward pass, [rows, tokens].
  [[nodiscard]] std::int64_t stats_rows() const { return kind == model::NormKind::Layer ? 2 : 1; }
  /// A weight as this kind multiplies with it.
  [[nodiscard]] NormWeight weight(const Parameter& parameter) const {
    return {parameter.value, kind == model::NormKind::RmsPlusOne ? 1.0 : 0.0};
  }
};

/// Normalisation of the residual stream.
class Norm {
 public:
  /// `bias` exists for the kind Layer.
  Norm(Parameter weight, Parameter bias, const NormSpec& spec)
      : weight_(weight), bias_(bias), spec_(spec) {}

  void forward(const Exec& exec, View x, View y, View stats) const;
  /// sum = x + delta, and y its normalisation.
  void forward_sum(const Exec& exec, View x, View delta, View sum, View y, View stats) const;
  /// dx += gradient; x is what was normalised.
  void backward(const Exec& exec, View dy, View x, View stats, View dx) const;

 private:
  [[nodiscard]] bool layer() const { return spec_.kind == model::NormKind::Layer; }

  Parameter weight_;
  Parameter bias_;
  NormSpec spec_;
};

}  // namespace tunebench::engine
