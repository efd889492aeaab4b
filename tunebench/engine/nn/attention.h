#pragma once

#include <cstdint>

#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/layers.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {

/// Self-attention: fused q, k, v projection, rotation, causal attention, output projection.
class Attention {
 public:
  struct Spec {
    Heads heads;
    double scale = 1.0;  ///< of the scores
    View rope_table;     ///< [positions, E], of make_rope_table
  };

  /// Kept from forward to backward.
  struct Saved {
    View qkv;  ///< [tokens, (H + 2K) * E], rotated
    View out;  ///< [tokens, H * E], before the output projection
    View lse;  ///< [H, tokens]
    [[nodiscard]] Saved first_tokens(std::int64_t tokens) const;
  };

  Attention(const Spec& spec, const BlockParameters& parameters);

  /// x and y [tokens, D].
  void forward(const Exec& exec, Sequences sequences, View x, const Saved& saved, View y) const;
  /// dx = gradient of x.
  void backward(const Exec& exec, Sequences sequences, View dy, View x, const Saved& saved,
                View dx) const;

 private:
  Spec spec_;
  Linear qkv_;
  Linear output_;
};

}  // namespace tunebench::engine
