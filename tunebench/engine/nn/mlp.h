#pragma once

#include <cstdint>

#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/layers.h"
#include "tunebench/engine/nn/parameters.h"

namespace tunebench::engine {

/// Feed-forward: up projection (gated: fused with the gate), activation, down projection.
class Mlp {
 public:
  struct Spec {
    std::int64_t feed_forward = 0;
    bool gated = true;
    Activation activation = Activation::Silu;
    /// Columns of the first projection.
    [[nodiscard]] std::int64_t inner_cols() const { return (gated ? 2 : 1) * feed_forward; }
  };

  /// Kept from forward to backward.
  struct Saved {
    View gate_up;     ///< [tokens, 2F] or [tokens, F]; backward leaves its gradient there
    View activation;  ///< [tokens, F]
    [[nodiscard]] Saved first_tokens(std::int64_t tokens) const;
  };

  Mlp(const Spec& spec, const BlockParameters& parameters);

  /// x and y [tokens, D].
  void forward(const Exec& exec, View x, const Saved& saved, View y) const;
  /// Rebuilds all of `saved` from x.
  void refill(const Exec& exec, View x, const Saved& saved) const;
  /// Rebuilds saved.activation from saved.gate_up.
  void refill_activation(const Exec& exec, const Saved& saved) const;
  /// dx = gradient of x.
  void backward(const Exec& exec, View dy, View x, const Saved& saved, View dx) const;

 private:
  Spec spec_;
  Linear gate_up_;
  Linear down_;
};

}  // namespace tunebench::engine
