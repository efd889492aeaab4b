#pragma once

#include <cstdint>

#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/layers.h"
#include "tunebench/engine/nn/parameters.h"

namespace tunebench::engine {

/// Gated feed-forward: fused gate and up projection, SwiGLU, down projection.
class Mlp {
 public:
  /// Kept from forward to backward.
  struct Saved {
    View gate_up;     ///< [tokens, 2F]; backward leaves its gradient there
    View activation;  ///< [tokens, F]
    [[nodiscard]] Saved first_tokens(std::int64_t tokens) const;
  };

  explicit Mlp(const BlockParameters& parameters);

  /// x and y [tokens, D].
  void forward(const Exec& exec, View x, const Saved& saved, View y) const;
  /// Rebuilds all of `saved` from x.
  void refill(const Exec& exec, View x, const Saved& saved) const;
  /// Rebuilds saved.activation from saved.gate_up.
  void refill_activation(const Exec& exec, const Saved& saved) const;
  /// dx = gradient of x.
  void backward(const Exec& exec, View dy, View x, const Saved& saved, View dx) const;

 private:
  Linear gate_up_;
  Linear down_;
};

}  // namespace tunebench::engine
