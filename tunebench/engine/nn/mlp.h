#pragma once

#include <cstdint>

#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/layers.h"
#include "tunebench/engine/nn/parameters.h"

namespace tunebench::engine {

/// Feed-forward: up projection (gated: fused with the gate), activation, down projection. A weighed
/// one multiplies each row with sigmoid(x . shared_gate); that is done with the activation.
class Mlp {
 public:
  struct Spec {
    std::int64_t feed_forward = 0;  ///< 0: the block has none
    bool gated = true;
    bool weighed = false;
    Activation activation = Activation::Silu;
    [[nodiscard]] bool exists() const { return feed_forward > 0; }
    /// Columns of the first projection.
    [[nodiscard]] std::int64_t inner_cols() const { return (gated ? 2 : 1) * feed_forward; }
  };

  /// Kept from forward to backward.
  struct Saved {
    View gate_up;     ///< [tokens, 2F] or [tokens, F]; backward leaves its gradient there
    View activation;  ///< [tokens, F]
    View weights;     ///< [1, tokens]; of a weighed one only
    [[nodiscard]] Saved first_tokens(std::int64_t tokens) const;
  };

  Mlp(const Spec& spec, const BlockParameters& parameters);

  /// x and y [tokens, D].
  void forward(const Exec& exec, View x, const Saved& saved, View y) const;
  /// Rebuilds all of `saved` from x.
  void refill(const Exec& exec, View x, const Saved& saved) const;
  /// Rebuilds saved.activation from saved.gate_up and saved.weights.
  void refill_activation(const Exec& exec, const Saved& saved) const;
  /// dx = gradient of x.
  void backward(const Exec& exec, View dy, View x, const Saved& saved, View dx) const;

 private:
  void weigh(const Exec& exec, View x, const Saved& saved) const;
  void weigh_backward(const Exec& exec, View dweights, View x, const Saved& saved, View dx) const;
  void activation_backward(const Exec& exec, View dactivation, View dweights,
                           const Saved& saved) const;

  Spec spec_;
  Linear gate_up_;
  Linear down_;
  Parameter weigher_;
};

}  // namespace tunebench::engine
