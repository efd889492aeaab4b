#pragma once

#include <cstdint>

#include "tunebench/engine/core/arena.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/attention.h"
#include "tunebench/engine/nn/layers.h"
#include "tunebench/engine/nn/mlp.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/engine/nn/recompute.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {

/// What makes a block; biases are there when its parameters are.
struct BlockSpec {
  std::int64_t width = 0;
  std::int64_t feed_forward = 0;
  double rms_epsilon = 1e-5;
  Attention::Spec attention;
};

/// The residual stream before a block: stream + delta. The sum is left to the block, which takes
/// it in the same pass as its normalisation.
struct Residual {
  View stream;
  View delta;
};

/// One decoder block with normalisation before each half:
///   middle = input + attention(norm(input));  output = middle + mlp(norm(middle)).
class DecoderBlock {
 public:
  /// Kept from forward to backward, [tokens, D] unless stated.
  struct Saved {
    View input;
    View input_norm;
    View input_rstd;  ///< [1, tokens]
    Attention::Saved attention;
    View middle;
    View middle_norm;
    View middle_rstd;  ///< [1, tokens]
    Mlp::Saved mlp;
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
  void backward(const Exec& exec, Sequences sequences, const Saved& saved, View dstream) const;

 private:
  RmsNorm input_norm_;
  Attention attention_;
  RmsNorm middle_norm_;
  Mlp mlp_;
};

}  // namespace tunebench::engine
