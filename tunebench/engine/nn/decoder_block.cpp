#include "tunebench/engine/nn/decoder_block.h"

namespace tunebench::engine {
namespace {

/// Names every activation that a rung may drop: visit(view, mildest rung that drops it, rows,
/// cols).
template <typename Visit>
void for_each_droppable(const BlockSpec& spec, std::int64_t tokens, DecoderBlock::Saved& saved,
                        const Visit& visit) {
  const Heads& heads = spec.attention.heads;
  visit(saved.input_norm, Recompute::Norm, tokens, spec.width);
  visit(saved.input_rstd, Recompute::Block, 1, tokens);
  visit(saved.attention.qkv, Recompute::Block, tokens, heads.fused_cols());
  visit(saved.attention.out, Recompute::Block, tokens, heads.query_cols());
  visit(saved.attention.lse, Recompute::Block, heads.query, tokens);
  visit(saved.middle, Recompute::Block, tokens, spec.width);
  visit(saved.middle_norm, Recompute::Norm, tokens, spec.width);
  visit(saved.middle_rstd, Recompute::Block, 1, tokens);
  visit(saved.mlp.gate_up, Recompute::Block, tokens, 2 * spec.feed_forward);
  visit(saved.mlp.activation, Recompute::Activation, tokens, spec.feed_forward);
}

}  // namespace

DecoderBlock::Saved DecoderBlock::Saved::first_tokens(std::int64_t tokens) const {
  return {.input = input.row_range(0, tokens),
          .input_norm = input_norm.row_range(0, tokens),
          .input_rstd = input_rstd.col_range(0, tokens),
          .attention = attention.first_tokens(tokens),
          .middle = middle.row_range(0, tokens),
          .middle_norm = middle_norm.row_range(0, tokens),
          .middle_rstd = middle_rstd.col_range(0, tokens),
          .mlp = mlp.first_tokens(tokens)};
}

DecoderBlock::DecoderBlock(const BlockSpec& spec, const BlockParameters& parameters)
    : input_norm_(parameters.input_norm, spec.rms_epsilon),
      attention_(spec.attention, parameters),
      middle_norm_(parameters.middle_norm, spec.rms_epsilon),
      mlp_(parameters) {}

DecoderBlock::Saved DecoderBlock::take_shared(const BlockSpec& spec, std::int64_t tokens,
                                              DType dtype, Recompute rung, Arena& arena) {
  Saved saved;
  for_each_droppable(spec, tokens, saved,
                     [&](View& view, Recompute dropped_from, std::int64_t rows, std::int64_t cols) {
                       if (rung >= dropped_from) {
                         view = arena.persistent("activations", rows, cols, dtype);
                       }
                     });
  return saved;
}

DecoderBlock::Saved DecoderBlock::take_kept(const BlockSpec& spec, std::int64_t tokens, DType dtype,
                                            Recompute rung, const Saved& shared, Arena& arena) {
  Saved saved = shared;
  saved.input = arena.persistent("activations", tokens, spec.width, dtype);
  for_each_droppable(spec, tokens, saved,
                     [&](View& view, Recompute dropped_from, std::int64_t rows, std::int64_t cols) {
                       if (rung < dropped_from) {
                         view = arena.persistent("activations", rows, cols, dtype);
                       }
                     });
  return saved;
}

void DecoderBlock::forward(const Exec& exec, Sequences sequences, const Residual* before,
                           const Saved& saved, View delta) const {
  if (before != nullptr) {
    input_norm_.forward_sum(exec, before->stream, before->delta, saved.input, saved.input_norm,
                            saved.input_rstd);
  } else {
    input_norm_.forward(exec, saved.input, saved.input_norm, saved.input_rstd);
  }
  attention_.forward(exec, sequences, saved.input_norm, saved.attention, delta);
  middle_norm_.forward_sum(exec, saved.input, delta, saved.middle, saved.middle_norm,
                           saved.middle_rstd);
  mlp_.forward(exec, saved.middle_norm, saved.mlp, delta);
}

void DecoderBlock::refill(const Exec& exec, Sequences sequences, Recompute rung,
                          const Saved& saved) const {
  switch (rung) {
    case Recompute::None:
      return;
    case Recompute::Activation:
      mlp_.refill_activation(exec, saved.mlp);
      return;
    case Recompute::Norm:
      input_norm_.forward(exec, saved.input, saved.input_norm, saved.input_rstd);
      middle_norm_.forward(exec, saved.middle, saved.middle_norm, saved.middle_rstd);
      mlp_.refill_activation(exec, saved.mlp);
      return;
    case Recompute::Block: {
      Scratch scratch(exec.arena);
      const View delta = scratch.take(saved.input.rows, saved.input.cols, saved.input.dtype);
      input_norm_.forward(exec, saved.input, saved.input_norm, saved.input_rstd);
      attention_.forward(exec, sequences, saved.input_norm, saved.attention, delta);
      middle_norm_.forward_sum(exec, saved.input, delta, saved.middle, saved.middle_norm,
                               saved.middle_rstd);
      mlp_.refill(exec, saved.middle_norm, saved.mlp);
      return;
    }
  }
}

void DecoderBlock::backward(const Exec& exec, Sequences sequences, const Saved& saved,
                            View dstream) const {
  Scratch scratch(exec.arena);
  const View dnorm = scratch.take(dstream.rows, dstream.cols, dstream.dtype);
  mlp_.backward(exec, dstream, saved.middle_norm, saved.mlp, dnorm);
  middle_norm_.backward(exec, dnorm, saved.middle, saved.middle_rstd, dstream);
  attention_.backward(exec, sequences, dstream, saved.input_norm, saved.attention, dnorm);
  input_norm_.backward(exec, dnorm, saved.input, saved.input_rstd, dstream);
}

}  // namespace tunebench::engine
