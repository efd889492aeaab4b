#pragma once

#include <array>
#include <cstdint>

#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/layers.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {

/// Self-attention: fused q, k, v projection, normalisation of heads, rotation, causal attention,
/// output projection.
class Attention {
 public:
  struct Spec {
    Heads heads;
    Scoring scoring;
    View rope_table;             ///< [positions, R], of make_rope_table; empty: nothing is rotated
    bool qk_norm = false;        ///< each head of queries and keys is normalised
    bool whole_qk_norm = false;  ///< or all heads of queries together, and those of keys
    NormSpec norm;               ///< how
    /// Numbers that normalising a token's queries and keys keeps.
    [[nodiscard]] std::int64_t qk_stats() const {
      return whole_qk_norm ? 2 : heads.query + heads.key_value;
    }
    /// Columns of queries and keys.
    [[nodiscard]] std::int64_t qk_cols() const {
      return heads.query_cols() + heads.key_value_cols();
    }
  };

  /// Kept from forward to backward.
  struct Saved {
    View qkv;      ///< [tokens, (H + 2K) * E], normalised and rotated
    View raw_qk;   ///< [tokens, (H + K) * E], before normalisation; with qk_norm only
    View qk_rstd;  ///< [tokens, qk_stats()]; with qk_norm only
    View out;      ///< [tokens, H * E], before the output projection
    View lse;      ///< [H, tokens]
    [[nodiscard]] Saved first_tokens(std::int64_t tokens) const;
  };

  Attention(const Spec& spec, const BlockParameters& parameters);

  /// x and y [tokens, D].
  void forward(const Exec& exec, Sequences sequences, View x, const Saved& saved, View y) const;
  /// dx = gradient of x.
  void backward(const Exec& exec, Sequences sequences, View dy, View x, const Saved& saved,
                View dx) const;

 private:
  /// Queries or keys: columns of qkv and of raw_qk, and of qk_rstd.
  struct HeadPart {
    std::int64_t col;
    std::int64_t cols;
    std::int64_t stat;
    std::int64_t stats;
    const Parameter& weight;
  };
  [[nodiscard]] std::array<HeadPart, 2> head_parts() const;
  void normalise_heads(const Exec& exec, const Saved& saved) const;
  void normalise_heads_backward(const Exec& exec, const Saved& saved, View dqkv) const;

  Spec spec_;
  Parameter query_norm_;
  Parameter key_norm_;
  Linear qkv_;
  Linear output_;
};

}  // namespace tunebench::engine
