#include "tunebench/engine/nn/decoder_block.h"

#include "tunebench/base/error.h"

namespace tunebench::engine {
namespace {

using Saved = DecoderBlock::Saved;

/// What for_each_droppable tells of an activation: the mildest rung that drops it, its shape.
struct Droppable {
  Recompute dropped_from;
  std::int64_t rows;
  std::int64_t cols;
  bool places = false;  ///< of integers
};

template <typename Visit>
void for_each_of_feed_forward(const BlockSpec& spec, std::int64_t tokens, Saved& saved,
                              const Visit& visit) {
  if (spec.mlp.exists()) {
    visit(saved.mlp.gate_up, Droppable{Recompute::Block, tokens, spec.mlp.inner_cols()});
    visit(saved.mlp.activation, Droppable{Recompute::Activation, tokens, spec.mlp.feed_forward});
    if (spec.mlp.weighed) {
      visit(saved.mlp.weights, Droppable{Recompute::Block, 1, tokens});
    }
  }
  if (spec.experts.exists()) {
    const std::int64_t count = spec.experts.count;
    const std::int64_t chosen = spec.experts.chosen;
    const std::int64_t all = tokens * chosen;
    const std::int64_t inner = spec.experts.feed_forward;
    Visits& visits = saved.experts.visits;
    visit(saved.experts.probabilities, Droppable{Recompute::Block, tokens, count});
    visit(saved.experts.weights, Droppable{Recompute::Block, 1, all});
    visit(visits.experts, Droppable{Recompute::Block, tokens, chosen, true});
    visit(visits.places, Droppable{Recompute::Block, tokens, chosen, true});
    visit(visits.tokens, Droppable{Recompute::Block, 1, all, true});
    visit(visits.begins, Droppable{Recompute::Block, 1, count + 1, true});
    visit(saved.experts.gate_up, Droppable{Recompute::Block, all, 2 * inner});
    visit(saved.experts.activation, Droppable{Recompute::Activation, all, inner});
  }
}

/// Names every activation that a rung may drop: visit(view, Droppable). What a block of this kind
/// has not is left out.
template <typename Visit>
void for_each_droppable(const BlockSpec& spec, std::int64_t tokens, Saved& saved,
                        const Visit& visit) {
  const Heads& heads = spec.attention.heads;
  const std::int64_t stats = spec.norm.stats_rows();
  const Droppable norm{Recompute::Norm, tokens, spec.width};
  const Droppable stream{Recompute::Block, tokens, spec.width};
  const Droppable norm_stats{Recompute::Block, stats, tokens};
  visit(saved.input_norm, norm);
  visit(saved.input_stats, norm_stats);
  visit(saved.attention.qkv, Droppable{Recompute::Block, tokens, heads.fused_cols()});
  if (spec.attention.qk_norm) {
    visit(saved.attention.raw_qk, Droppable{Recompute::Block, tokens, spec.attention.qk_cols()});
    visit(saved.attention.qk_rstd, Droppable{Recompute::Block, tokens, spec.attention.qk_stats()});
  }
  visit(saved.attention.out, Droppable{Recompute::Block, tokens, heads.query_cols()});
  visit(saved.attention.lse, Droppable{Recompute::Block, heads.query, tokens});
  visit(saved.middle, stream);
  visit(saved.middle_norm, norm);
  visit(saved.middle_stats, norm_stats);
  for_each_of_feed_forward(spec, tokens, saved, visit);
  if (spec.post_norms) {
    visit(saved.attention_end, stream);
    visit(saved.attention_end_stats, norm_stats);
    visit(saved.mlp_end, stream);
    visit(saved.mlp_end_stats, norm_stats);
  }
}

View take_droppable(const Droppable& what, DType dtype, Arena& arena) {
  return arena.persistent("activations", what.rows, what.cols, what.places ? DType::I32 : dtype);
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
          .experts = experts.first_tokens(tokens),
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
      experts_(spec.experts, parameters),
      mlp_end_(parameters.post_mlp_norm, {}, spec.norm) {
  TB_CHECK(!spec.post_norms ||
           (spec.residual_scale == 1.0 && spec.norm.kind != model::NormKind::Layer));
}

DecoderBlock::Saved DecoderBlock::take_shared(const BlockSpec& spec, std::int64_t tokens,
                                              DType dtype, Recompute rung, Arena& arena) {
  Saved saved;
  for_each_droppable(spec, tokens, saved, [&](View& view, const Droppable& what) {
    if (rung >= what.dropped_from) {
      view = take_droppable(what, dtype, arena);
    }
  });
  return saved;
}

DecoderBlock::Saved DecoderBlock::take_kept(const BlockSpec& spec, std::int64_t tokens, DType dtype,
                                            Recompute rung, const Saved& shared, Arena& arena) {
  Saved saved = shared;
  saved.input = arena.persistent("activations", tokens, spec.width, dtype);
  for_each_droppable(spec, tokens, saved, [&](View& view, const Droppable& what) {
    if (rung < what.dropped_from) {
      view = take_droppable(what, dtype, arena);
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

void DecoderBlock::feed_forward(const Exec& exec, const Saved& saved, View y) const {
  if (spec_.mlp.exists()) {
    mlp_.forward(exec, saved.middle_norm, saved.mlp, y);
  }
  if (spec_.experts.exists()) {
    experts_.forward(exec, saved.middle_norm, saved.experts, y, spec_.mlp.exists());
  }
}

void DecoderBlock::feed_forward_backward(const Exec& exec, View dy, const Saved& saved,
                                         const RouterPull& pull, View dx) const {
  if (spec_.mlp.exists()) {
    mlp_.backward(exec, dy, saved.middle_norm, saved.mlp, dx);
  }
  if (spec_.experts.exists()) {
    experts_.backward(exec, dy, saved.middle_norm, saved.experts, pull, dx, spec_.mlp.exists());
  }
}

void DecoderBlock::refill_activations(const Exec& exec, const Saved& saved) const {
  if (spec_.mlp.exists()) {
    mlp_.refill_activation(exec, saved.mlp);
  }
  if (spec_.experts.exists()) {
    experts_.refill_activation(exec, saved.experts);
  }
}

void DecoderBlock::mlp_half(const Exec& exec, const Saved& saved, View delta) const {
  feed_forward(exec, saved, spec_.post_norms ? saved.mlp_end : delta);
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
      refill_activations(exec, saved);
      return;
    case Recompute::Norm:
      input_norm_.forward(exec, saved.input, saved.input_norm, saved.input_stats);
      middle_norm_.forward(exec, saved.middle, saved.middle_norm, saved.middle_stats);
      refill_activations(exec, saved);
      return;
    case Recompute::Block: {
      Scratch scratch(exec.arena);
      const View delta = scratch.take(saved.input.rows, saved.input.cols, saved.input.dtype);
      input_norm_.forward(exec, saved.input, saved.input_norm, saved.input_stats);
      attention_half(exec, sequences, saved, delta);
      middle_norm_.forward_sum(exec, saved.input, delta, saved.middle, saved.middle_norm,
                               saved.middle_stats);
      refill_feed_forward(exec, saved, delta);
      return;
    }
  }
}

/// What the backward pass reads of this half: its result only where that is normalised.
void DecoderBlock::refill_feed_forward(const Exec& exec, const Saved& saved, View delta) const {
  if (spec_.post_norms) {
    mlp_half(exec, saved, delta);
    return;
  }
  if (spec_.mlp.exists()) {
    mlp_.refill(exec, saved.middle_norm, saved.mlp);
  }
  if (spec_.experts.exists()) {
    experts_.refill(exec, saved.middle_norm, saved.experts);
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

void DecoderBlock::backward(const Exec& exec, Sequences sequences, const Saved& saved, View dstream,
                            const RouterPull& pull) const {
  Scratch scratch(exec.arena);
  const View dnorm = scratch.take(dstream.rows, dstream.cols, dstream.dtype);
  const bool apart = spec_.post_norms || spec_.residual_scale != 1.0;
  const View room = apart ? scratch.take(dstream.rows, dstream.cols, dstream.dtype) : View{};
  const View dmlp = into_half(exec, {mlp_end_, saved.mlp_end, saved.mlp_end_stats}, dstream, room);
  feed_forward_backward(exec, dmlp, saved, pull, dnorm);
  middle_norm_.backward(exec, dnorm, saved.middle, saved.middle_stats, dstream);
  const View dattention = into_half(
      exec, {attention_end_, saved.attention_end, saved.attention_end_stats}, dstream, room);
  attention_.backward(exec, sequences, dattention, saved.input_norm, saved.attention, dnorm);
  input_norm_.backward(exec, dnorm, saved.input, saved.input_stats, dstream);
}

}  // namespace tunebench::engine
