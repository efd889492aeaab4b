#include "tunebench/engine/nn/decoder_block.h"

#include "tunebench/base/error.h"

namespace tunebench::engine {
namespace {

/// Names every activation that a rung may drop: visit(view, mildest rung that drops it, rows,
/// cols). What a block of this kind has not is left out.
template <typename Visit>
void for_each_droppable(const BlockSpec& spec, std::int64_t tokens, DecoderBlock::Saved& saved,
                        const Visit& visit) {
  const Heads& heads = spec.attention.heads;
  const std::int64_t stats = spec.norm.stats_rows();
  visit(saved.input_norm, Recompute::Norm, tokens, spec.width);
  visit(saved.input_stats, Recompute::Block, stats, tokens);
  visit(saved.attention.qkv, Recompute::Block, tokens, heads.fused_cols());
  if (spec.attention.qk_norm) {
    visit(saved.attention.raw_qk, Recompute::Block, tokens, spec.attention.qk_cols());
    visit(saved.attention.qk_rstd, Recompute::Block, tokens, heads.query + heads.key_value);
  }
  visit(saved.attention.out, Recompute::Block, tokens, heads.query_cols());
  visit(saved.attention.lse, Recompute::Block, heads.query, tokens);
  visit(saved.middle, Recompute::Block, tokens, spec.width);
  visit(saved.middle_norm, Recompute::Norm, tokens, spec.width);
  visit(saved.middle_stats, Recompute::Block, stats, tokens);
  visit(saved.mlp.gate_up, Recompute::Block, tokens, spec.mlp.inner_cols());
  visit(saved.mlp.activation, Recompute::Activation, tokens, spec.mlp.feed_forward);
  if (spec.post_norms) {
    visit(saved.attention_end, Recompute::Block, tokens, spec.width);
    visit(saved.attention_end_stats, Recompute::Block, stats, tokens);
    visit(saved.mlp_end, Recompute::Block, tokens, spec.width);
    visit(saved.mlp_end_stats, Recompute::Block, stats, tokens);
  }
}

}  // namespace

DecoderBlock::Saved DecoderBlock::Saved::first_tokens(std::int64_t tokens) const {
  return {.input = input.row_range(0, tokens),
          .input_norm = input_norm.row_range(0, tokens),
          .input_stats = input_stats.col_range(0, tokens),
          .attention = attention.first_tokens(tokens),
          .attention_end = attention_end.first_rows(tokens),
          .attention_end_stats = attention_end_stats.first_cols(tokens),
          .middle = middle.row_range(0, tokens),
          .middle_norm = middle_norm.row_range(0, tokens),
          .middle_stats = middle_stats.col_range(0, tokens),
          .mlp = mlp.first_tokens(tokens),
          .mlp_end = mlp_end.first_rows(tokens),
          .mlp_end_stats = mlp_end_stats.first_cols(tokens)};
}

DecoderBlock::DecoderBlock(const BlockSpec& spec, const BlockParameters& parameters)
    : spec_(spec),
      input_norm_(parameters.input_norm, parameters.input_norm_bias, spec.norm),
      attention_(spec.attention, parameters),
      attention_end_(parameters.post_attention_norm, {}, spec.norm),
      middle_norm_(parameters.middle_norm, parameters.middle_norm_bias, spec.norm),
      mlp_(spec.mlp, parameters),
      mlp_end_(parameters.post_mlp_norm, {}, spec.norm) {
  TB_CHECK(!spec.post_norms ||
           (spec.residual_scale == 1.0 && spec.norm.kind != model::NormKind::Layer));
}

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

void DecoderBlock::attention_half(const Exec& exec, Sequences sequences, const Saved& saved,
                                  View delta) const {
  attention_.forward(exec, sequences, saved.input_norm, saved.attention,
                     spec_.post_norms ? saved.attention_end : delta);
  if (spec_.post_norms) {
    attention_end_.forward(exec, saved.attention_end, delta, saved.attention_end_stats);
  } else if (spec_.residual_scale != 1.0) {
    exec.ops.scale(spec_.residual_scale, delta, delta);
  }
}

void DecoderBlock::mlp_half(const Exec& exec, const Saved& saved, View delta) const {
  mlp_.forward(exec, saved.middle_norm, saved.mlp, spec_.post_norms ? saved.mlp_end : delta);
  if (spec_.post_norms) {
    mlp_end_.forward(exec, saved.mlp_end, delta, saved.mlp_end_stats);
  } else if (spec_.residual_scale != 1.0) {
    exec.ops.scale(spec_.residual_scale, delta, delta);
  }
}

void DecoderBlock::forward(const Exec& exec, Sequences sequences, const Residual* before,
                           const Saved& saved, View delta) const {
  if (before != nullptr) {
    input_norm_.forward_sum(exec, before->stream, before->delta, saved.input, saved.input_norm,
                            saved.input_stats);
  } else {
    input_norm_.forward(exec, saved.input, saved.input_norm, saved.input_stats);
  }
  attention_half(exec, sequences, saved, delta);
  middle_norm_.forward_sum(exec, saved.input, delta, saved.middle, saved.middle_norm,
                           saved.middle_stats);
  mlp_half(exec, saved, delta);
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
      input_norm_.forward(exec, saved.input, saved.input_norm, saved.input_stats);
      middle_norm_.forward(exec, saved.middle, saved.middle_norm, saved.middle_stats);
      mlp_.refill_activation(exec, saved.mlp);
      return;
    case Recompute::Block: {
      Scratch scratch(exec.arena);
      const View delta = scratch.take(saved.input.rows, saved.input.cols, saved.input.dtype);
      input_norm_.forward(exec, saved.input, saved.input_norm, saved.input_stats);
      attention_half(exec, sequences, saved, delta);
      middle_norm_.forward_sum(exec, saved.input, delta, saved.middle, saved.middle_norm,
                               saved.middle_stats);
      if (spec_.post_norms) {
        mlp_half(exec, saved, delta);
      } else {
        mlp_.refill(exec, saved.middle_norm, saved.mlp);
      }
      return;
    }
  }
}

View DecoderBlock::into_half(const Exec& exec, const HalfEnd& end, View dstream, View room) const {
  if (spec_.post_norms) {
    exec.ops.fill(room, 0.0);
    end.norm.backward(exec, dstream, end.raw, end.stats, room);
    return room;
  }
  if (spec_.residual_scale != 1.0) {
    exec.ops.scale(spec_.residual_scale, dstream, room);
    return room;
  }
  return dstream;
}

void DecoderBlock::backward(const Exec& exec, Sequences sequences, const Saved& saved,
                            View dstream) const {
  Scratch scratch(exec.arena);
  const View dnorm = scratch.take(dstream.rows, dstream.cols, dstream.dtype);
  const bool apart = spec_.post_norms || spec_.residual_scale != 1.0;
  const View room = apart ? scratch.take(dstream.rows, dstream.cols, dstream.dtype) : View{};
  const View dmlp = into_half(exec, {mlp_end_, saved.mlp_end, saved.mlp_end_stats}, dstream, room);
  mlp_.backward(exec, dmlp, saved.middle_norm, saved.mlp, dnorm);
  middle_norm_.backward(exec, dnorm, saved.middle, saved.middle_stats, dstream);
  const View dattention = into_half(
      exec, {attention_end_, saved.attention_end, saved.attention_end_stats}, dstream, room);
  attention_.backward(exec, sequences, dattention, saved.input_norm, saved.attention, dnorm);
  input_norm_.backward(exec, dnorm, saved.input, saved.input_stats, dstream);
}

}  // namespace tunebench::engine
