#pragma once

#include <cstdint>

#include "tunebench/engine/core/arena.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/attention.h"
#include "tunebench/engine/nn/experts.h"
#include "tunebench/engine/nn/layers.h"
#include "tunebench/engine/nn/mlp.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/engine/nn/recompute.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {

/// What makes a block; biases are there when its parameters are.
struct BlockSpec {
  std::int64_t width = 0;
  NormSpec norm;
  bool post_norms = false;      ///< each half's result is normalised before it is added
  double residual_scale = 1.0;  ///< each half's result is multiplied with it; not with post_norms
  Attention::Spec attention;
  Mlp::Spec mlp;          ///< with experts: the shared one, which each token visits
  Experts::Spec experts;  ///< what they and mlp make is added up
};

/// The residual stream before a block: stream + delta. The sum is left to the block, which takes
/// it in the same pass as its normalisation.
struct Residual {
  View stream;
  View delta;
};

/// One decoder block with normalisation before each half:
///   middle = input + end(attention(norm(input)));  output = middle + end(mlp(norm(middle)))
/// where end normalises, multiplies, or does nothing.
class DecoderBlock {
 public:
  /// Kept from forward to backward, [tokens, D] unless stated. Stats are [1, tokens], of a layer
  /// norm [2, tokens].
  struct Saved {
    View input;
    View input_norm;
    View input_stats;
    Attention::Saved attention;
    View attention_end;        ///< before its norm; with post_norms only
    View attention_end_stats;  ///< the same
    View middle;
    View middle_norm;
    View middle_stats;
    Mlp::Saved mlp;
    Experts::Saved experts;
    View mlp_end;        ///< as attention_end
    View mlp_end_stats;  ///< the same
    [[nodiscard]] Saved first_tokens(std::int64_t tokens) const;
  };

  DecoderBlock(const BlockSpec& spec, const BlockParameters& parameters);

  /// Memory of what blocks do not keep on this rung. All blocks share it, so it is good only until
  /// another block's forward or refill.
  static Saved take_shared(const BlockSpec& spec, std::int64_t tokens, DType dtype, Recompute rung,
                           Arena& arena);
  /// Memory of what one block keeps on this rung; the rest is `shared`.
  static Saved take_kept(const BlockSpec& spec, std::int64_t tokens, DType dtype, Recompute rung,
                         const Saved& shared, Arena& arena);

  /// Fills `saved`. Without `before`, saved.input already holds the stream. The new stream is
  /// saved.middle + delta; `delta` may be before->delta.
  void forward(const Exec& exec, Sequences sequences, const Residual* before, const Saved& saved,
               View delta) const;
  /// Rebuilds what the rung dropped, from what it kept.
  void refill(const Exec& exec, Sequences sequences, Recompute rung, const Saved& saved) const;
  /// dstream: gradient of the stream after the block in, before the block out. Uses up `saved`.
  void backward(const Exec& exec, Sequences sequences, const Saved& saved, View dstream,
                const RouterPull& pull = {}) const;

 private:
  void attention_half(const Exec& exec, Sequences sequences, const Saved& saved, View delta) const;
  void mlp_half(const Exec& exec, const Saved& saved, View delta) const;
  void feed_forward(const Exec& exec, const Saved& saved, View y) const;
  void feed_forward_backward(const Exec& exec, View dy, const Saved& saved, const RouterPull& pull,
                             View dx) const;
  void refill_feed_forward(const Exec& exec, const Saved& saved, View delta) const;
  void refill_activations(const Exec& exec, const Saved& saved) const;
  /// The result of a half before its norm, if it has one, and that norm's stats.
  struct HalfEnd {
    const Norm& norm;
    View raw;
    View stats;
  };
  /// Gradient of a half's result from that of the stream, in `room` or dstream itself.
  [[nodiscard]] View into_half(const Exec& exec, const HalfEnd& end, View dstream, View room) const;

  BlockSpec spec_;
  Norm input_norm_;
  Attention attention_;
  Norm attention_end_;
  Norm middle_norm_;
  Mlp mlp_;
  Experts experts_;
  Norm mlp_end_;
};

}  // namespace tunebench::engine
