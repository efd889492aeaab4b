#include "tunebench/engine/nn/causal_lm.h"

#include <algorithm>
#include <cmath>

#include "tunebench/base/error.h"
#include "tunebench/engine/nn/rope_table.h"

namespace tunebench::engine {
namespace {

BlockSpec make_block_spec(const model::ModelSpec& spec, const View& rope_table) {
  return {.width = spec.width,
          .feed_forward = spec.feed_forward,
          .rms_epsilon = spec.rms_epsilon,
          .attention = {
              .heads = {.query = spec.heads, .key_value = spec.kv_heads, .width = spec.head_width},
              .scale = 1.0 / std::sqrt(static_cast<double>(spec.head_width)),
              .rope_table = rope_table}};
}

View make_rope_table(const model::ModelSpec& spec, std::int64_t positions, DType dtype,
                     Arena& arena) {
  const View table = arena.persistent("tables", positions, spec.head_width, dtype);
  if (!arena.planning()) {
    fill_rope_table(spec, table);
  }
  return table;
}

}  // namespace

CausalLM::CausalLM(const model::ModelSpec& spec, const Parameters& parameters,
                   const Options& options, Arena& arena)
    : options_(options),
      parameters_(parameters),
      arena_(arena),
      final_norm_(parameters.final_norm(), spec.rms_epsilon),
      head_(parameters.head(), options.chunk_rows) {
  const DType dtype = parameters.values().dtype;
  const std::int64_t tokens = options.largest.tokens();
  block_spec_ = make_block_spec(spec, make_rope_table(spec, options.largest.length, dtype, arena));
  const DecoderBlock::Saved shared =
      DecoderBlock::take_shared(block_spec_, tokens, dtype, options.recompute, arena);
  for (const BlockParameters& block : parameters.blocks()) {
    blocks_.emplace_back(block_spec_, block);
    saved_.push_back(
        DecoderBlock::take_kept(block_spec_, tokens, dtype, options.recompute, shared, arena));
  }
  final_input_ = arena.persistent("activations", tokens, spec.width, dtype);
  final_rstd_ = arena.persistent("activations", 1, tokens, dtype);
  hidden_ = arena.persistent("activations", tokens, spec.width, dtype);
  if (!arena.planning()) {
    trained_rows_.reserve(static_cast<std::size_t>(tokens));
    trained_labels_.reserve(static_cast<std::size_t>(tokens));
  }
}

double CausalLM::forward_backward(Ops& ops, const data::MicroBatch& batch, double gradient_scale,
                                  bool accumulate) {
  const Exec exec{ops, arena_, accumulate};
  const Input input = find_trained_rows(batch);
  forward(exec, input);
  return backward(exec, input, gradient_scale);
}

void CausalLM::logits(Ops& ops, const data::MicroBatch& batch, View logits) {
  const Exec exec{ops, arena_};
  const Input input = find_trained_rows(batch);
  forward(exec, input);
  head_.logits(exec, hidden_.row_range(0, input.sequences.tokens()), logits);
}

void CausalLM::dry_run() {
  TB_CHECK(arena_.planning());
  const std::unique_ptr<Ops> ops = make_planning_ops(parameters_.values().dtype);
  const Exec exec{*ops, arena_};
  const Input input{options_.largest, {}, {options_.largest.tokens(), {}, {}}};
  forward(exec, input);
  backward(exec, input, 1.0);
}

Extents CausalLM::extents() const {
  const Heads& heads = block_spec_.attention.heads;
  return {.sequences = options_.largest,
          .heads = heads,
          .widest = std::max({block_spec_.width, heads.fused_cols(), 2 * block_spec_.feed_forward}),
          .head_rows = std::min(options_.chunk_rows, options_.largest.tokens()),
          .vocabulary = parameters_.head().value.rows};
}

CausalLM::Input CausalLM::find_trained_rows(const data::MicroBatch& batch) {
  TB_CHECK(batch.samples <= options_.largest.count && batch.length <= options_.largest.length);
  TB_CHECK(std::ssize(batch.ids) == batch.tokens() && std::ssize(batch.labels) == batch.tokens());
  trained_rows_.clear();
  trained_labels_.clear();
  for (std::size_t t = 0; t < batch.labels.size(); ++t) {
    if (batch.labels[t] != data::kIgnoredLabel) {
      trained_rows_.push_back(static_cast<std::int32_t>(t));
      trained_labels_.push_back(batch.labels[t]);
    }
  }
  return {{batch.samples, batch.length},
          batch.ids,
          {std::ssize(trained_rows_), trained_rows_, trained_labels_}};
}

DecoderBlock::Saved CausalLM::saved(std::size_t layer, const Sequences& sequences) const {
  return saved_[layer].first_tokens(sequences.tokens());
}

void CausalLM::forward(const Exec& exec, const Input& input) {
  const std::int64_t tokens = input.sequences.tokens();
  Scratch scratch(exec.arena);
  const View delta = scratch.take(tokens, final_input_.cols, final_input_.dtype);
  exec.ops.embed(input.ids, parameters_.embedding().value, saved(0, input.sequences).input);
  Residual before;
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const DecoderBlock::Saved kept = saved(layer, input.sequences);
    blocks_[layer].forward(exec, input.sequences, layer > 0 ? &before : nullptr, kept, delta);
    before = {kept.middle, delta};
  }
  final_norm_.forward_sum(exec, before.stream, before.delta, final_input_.row_range(0, tokens),
                          hidden_.row_range(0, tokens), final_rstd_.col_range(0, tokens));
}

double CausalLM::backward(const Exec& exec, const Input& input, double gradient_scale) {
  const std::int64_t tokens = input.sequences.tokens();
  Scratch scratch(exec.arena);
  const View dstream = scratch.take(tokens, final_input_.cols, final_input_.dtype);
  double loss = 0;
  {
    Scratch inner(exec.arena);
    const View dhidden = inner.take(tokens, hidden_.cols, hidden_.dtype);
    loss = head_.forward_backward(exec, hidden_.row_range(0, tokens), input.trained, gradient_scale,
                                  dhidden);
    exec.ops.fill(dstream, 0.0);
    final_norm_.backward(exec, dhidden, final_input_.row_range(0, tokens),
                         final_rstd_.col_range(0, tokens), dstream);
  }
  for (std::size_t layer = blocks_.size(); layer-- > 0;) {
    const DecoderBlock::Saved kept = saved(layer, input.sequences);
    // What the last block shares with the others is still as its forward left it.
    if (layer + 1 < blocks_.size()) {
      blocks_[layer].refill(exec, input.sequences, options_.recompute, kept);
    }
    blocks_[layer].backward(exec, input.sequences, kept, dstream);
  }
  const Parameter& embedding = parameters_.embedding();
  // A tied head has already left its part in the same gradient.
  if (!parameters_.tied_head() && !exec.accumulate) {
    exec.ops.fill(embedding.gradient, 0.0);
  }
  exec.ops.embed_backward(input.ids, dstream, embedding.gradient);
  return loss;
}

}  // namespace tunebench::engine
