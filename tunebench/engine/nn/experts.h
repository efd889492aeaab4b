#pragma once

#include <cstdint>

#include "tunebench/engine/core/arena.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/layers.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {

/// Mixture of experts: a router sends each token to a few of many gated feed-forward layers and
/// adds up what they make of it, weighted. The other experts cost nothing.
///
/// A visit's weight is multiplied into the activation, before the down projection, which narrows
/// what is kept for its gradient from D to F columns.
class Experts {
 public:
  struct Spec {
    std::int64_t count = 0;   ///< N; 0: the block has none
    std::int64_t chosen = 0;  ///< k, for each token
    std::int64_t feed_forward = 0;
    bool renormalise = true;  ///< the weights of a token sum to one
    Activation activation = Activation::Silu;
    [[nodiscard]] bool exists() const { return count > 0; }
  };

  /// Kept from forward to backward; V = tokens * k visits.
  struct Saved {
    View probabilities;  ///< [tokens, N]
    View weights;        ///< [1, V]
    Visits visits;
    View gate_up;     ///< [V, 2F]; backward leaves its gradient there
    View activation;  ///< [V, F], weighted
    [[nodiscard]] Saved first_tokens(std::int64_t tokens) const;
  };

  Experts(const Spec& spec, const BlockParameters& parameters);

  /// x and y [tokens, D]. add: y += instead of y =.
  void forward(const Exec& exec, View x, const Saved& saved, View y, bool add) const;
  /// Rebuilds all of `saved` from x.
  void refill(const Exec& exec, View x, const Saved& saved) const;
  /// Rebuilds saved.activation from saved.gate_up and saved.weights.
  void refill_activation(const Exec& exec, const Saved& saved) const;
  /// dx (with `add` +)= gradient of x, that of `pull` included.
  void backward(const Exec& exec, View dy, View x, const Saved& saved, const RouterPull& pull,
                View dx, bool add) const;

 private:
  /// All of `saved`; the rows that the visits read are left in `visitors` [V, D].
  void fill(const Exec& exec, View x, const Saved& saved, View visitors) const;

  Spec spec_;
  Parameter router_;
  Parameter gate_up_;  ///< [N * 2F, D]
  Parameter down_;     ///< [N * D, F]
};

}  // namespace tunebench::engine
