#pragma once

#include <cstdint>

#include "tunebench/base/error.h"
#include "tunebench/engine/core/arena.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/engine/ops/ops.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::engine {

/// What is drawn anew at each step, for methods that drop elements.
struct Chance {
  bool drops = false;  ///< false: nothing is dropped, as when a model is only looked at
  std::uint64_t seed = 0;
  std::uint64_t step = 0;
  std::int64_t first_row = 0;  ///< tokens of the micro-batches of this step before this one
};

/// What a layer's call needs besides its views.
struct Exec {
  Ops& ops;
  Arena& arena;             ///< for scratch
  bool accumulate = false;  ///< add to parameter gradients instead of overwriting them
  Chance chance = {};
};

/// The matrix of a projection, [out, in], as products need it. Nothing else asks how its numbers
/// are kept: one that is dequantised tile by tile inside the product is one more kind here.
class BaseMatrix {
 public:
  explicit BaseMatrix(View dense) : dense_(dense) {}
  /// y = x W^T.
  void forward(const Exec& exec, View x, View y) const;
  /// dx = dy W.
  void backward(const Exec& exec, View dy, View dx) const;

 private:
  View dense_;
};

/// y = x W^T + b.
class Affine {
 public:
  Affine(const Parameter& weight, const Parameter& bias)
      : matrix_(weight.value), weight_(weight), bias_(bias) {}

  void forward(const Exec& exec, View x, View y) const;
  /// dx = dy W; gradients of what is trained of weight and bias.
  void backward(const Exec& exec, View dy, View x, View dx) const;

 private:
  BaseMatrix matrix_;
  Parameter weight_;
  Parameter bias_;
};

/// What a method puts around a projection: it computes in the projection's place and calls it.
class Adapter {
 public:
  Adapter() = default;
  virtual ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;
  Adapter(Adapter&&) = delete;
  Adapter& operator=(Adapter&&) = delete;

  virtual void forward(const Exec& exec, const Affine& base, View x, View y) const = 0;
  /// dx = gradient of x; gradients of what is trained. x is what forward read.
  virtual void backward(const Exec& exec, const Affine& base, View dy, View x, View dx) const = 0;
};

/// A projection, with what a method puts around it.
class Linear {
 public:
  Linear(const Parameter& weight, const Parameter& bias, const Adapter* adapter = nullptr)
      : base_(weight, bias), adapter_(adapter) {}

  void forward(const Exec& exec, View x, View y) const;
  /// dx = gradient of x; gradients of what is trained.
  void backward(const Exec& exec, View dy, View x, View dx) const;

 private:
  Affine base_;
  const Adapter* adapter_;
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
  Norm(const Parameter& weight, const Parameter& bias, const NormSpec& spec)
      : weight_(weight), bias_(bias), spec_(spec) {
    TB_CHECK(!weight.trained() || !bias.exists() || bias.trained());
  }

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
