#include "tunebench/engine/nn/causal_lm.h"

#include <algorithm>

#include "tunebench/base/error.h"
#include "tunebench/engine/nn/rope_table.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/rope.h"

namespace tunebench::engine {
namespace {

RopeTables take_rope_tables(const model::ModelSpec& spec, std::int64_t positions, DType dtype,
                            Arena& arena) {
  if (spec.positions != model::PositionKind::Rope) {
    return {};
  }
  RopeTables tables;
  tables.whole = arena.persistent("tables", positions, spec.rotated(), dtype);
  tables.local = tables.whole;
  if (spec.local_rope_theta > 0.0) {
    tables.local = arena.persistent("tables", positions, spec.rotated(), dtype);
  }
  if (!arena.planning()) {
    fill_rope_table(spec, positions, tables.whole);
    if (spec.local_rope_theta > 0.0) {
      fill_local_rope_table(spec, tables.local);
    }
  }
  return tables;
}

}  // namespace

CausalLM::CausalLM(const model::ModelSpec& spec, const Parameters& parameters,
                   const Options& options, Arena& arena)
    : spec_(spec),
      options_(options),
      largest_{options.largest.count, options.largest.length + virtual_tokens()},
      parameters_(parameters),
      arena_(arena),
      rope_(take_rope_tables(spec, largest_.length, parameters.dtype(), arena)),
      rope_class_(model::rope_length_class(spec, largest_.length)),
      block_spec_(make_block_spec(spec, 0, rope_)),
      embedding_norm_(parameters.embedding_norm(), parameters.embedding_norm_bias(),
                      block_spec_.norm),
      final_norm_(parameters.final_norm(), parameters.final_norm_bias(), block_spec_.norm),
      head_(parameters.head(), {.chunk_rows = options.chunk_rows,
                                .divisor = spec.logit_divisor,
                                .cap = spec.logit_cap}) {
  const DType dtype = parameters.dtype();
  const std::int64_t tokens = largest_.tokens();
  const std::int64_t stats = block_spec_.norm.stats_rows();
  const DecoderBlock::Saved shared =
      DecoderBlock::take_shared(block_spec_, tokens, dtype, options.recompute, arena);
  for (std::size_t layer = 0; layer < parameters.blocks().size(); ++layer) {
    blocks_.emplace_back(make_block_spec(spec, static_cast<std::int64_t>(layer), rope_),
                         parameters.blocks()[layer]);
    saved_.push_back(
        DecoderBlock::take_kept(block_spec_, tokens, dtype, options.recompute, shared, arena));
  }
  if (spec.embedding_norm) {
    embedded_ = arena.persistent("activations", tokens, spec.width, dtype);
    embedded_stats_ = arena.persistent("activations", stats, tokens, dtype);
  }
  final_input_ = arena.persistent("activations", tokens, spec.width, dtype);
  final_stats_ = arena.persistent("activations", stats, tokens, dtype);
  hidden_ = arena.persistent("activations", tokens, spec.width, dtype);
  if (spec.experts.loss_share > 0.0) {
    expert_load_ = arena.persistent("activations", 2, spec.experts.count, dtype);
    router_slope_ = arena.persistent("activations", 1, spec.experts.count, dtype);
  }
  if (!arena.planning()) {
    real_lengths_.reserve(static_cast<std::size_t>(largest_.count));
    trained_rows_.reserve(static_cast<std::size_t>(tokens));
    trained_labels_.reserve(static_cast<std::size_t>(tokens));
  }
}

CausalLM::Losses CausalLM::forward_backward(Ops& ops, const data::MicroBatch& batch,
                                            double gradient_scale, bool accumulate,
                                            const Chance& chance) {
  const Exec exec{ops, arena_, accumulate, chance};
  const Input input = find_trained_rows(batch);
  follow_length(input.sequences.length);
  forward(exec, input);
  const double router = router_loss(exec, input);
  return {.tokens = backward(exec, input, gradient_scale), .router = router};
}

void CausalLM::logits(Ops& ops, const data::MicroBatch& batch, View logits) {
  const Exec exec{ops, arena_};
  const Input input = find_trained_rows(batch);
  follow_length(input.sequences.length);
  forward(exec, input);
  const std::int64_t length = input.sequences.length;
  const std::int64_t first = virtual_tokens();
  if (first == 0) {
    head_.logits(exec, hidden_.row_range(0, input.sequences.tokens()), logits);
    return;
  }
  for (std::int64_t sample = 0; sample < batch.samples; ++sample) {
    head_.logits(exec, hidden_.row_range(sample * length + first, batch.length),
                 logits.row_range(sample * batch.length, batch.length));
  }
}

void CausalLM::dry_run() {
  TB_CHECK(arena_.planning());
  const std::unique_ptr<Ops> ops = make_planning_ops(parameters_.dtype());
  // Dropping needs memory, keeping needs none.
  const Exec exec{*ops, arena_, false, {.drops = true}};
  const Input input{largest_, {}, {options_.largest.tokens(), {}, {}}, {}};
  forward(exec, input);
  backward(exec, input, 1.0);
}

Extents CausalLM::extents() const {
  const Heads& heads = block_spec_.attention.heads;
  return {.sequences = largest_,
          .heads = heads,
          .widest = std::max({block_spec_.width, heads.fused_cols(), block_spec_.mlp.inner_cols()}),
          .head_rows = std::min(options_.chunk_rows, options_.largest.tokens()),
          .vocabulary = parameters_.head().value.rows};
}

CausalLM::Input CausalLM::find_trained_rows(const data::MicroBatch& batch) {
  TB_CHECK(batch.samples <= options_.largest.count && batch.length <= options_.largest.length);
  TB_CHECK(std::ssize(batch.ids) == batch.tokens() && std::ssize(batch.labels) == batch.tokens());
  TB_CHECK(batch.lengths.empty() || std::ssize(batch.lengths) == batch.samples);
  real_lengths_.clear();
  for (const std::int32_t length : batch.lengths) {
    real_lengths_.push_back(static_cast<std::int32_t>(length + virtual_tokens()));
  }
  trained_rows_.clear();
  trained_labels_.clear();
  for (std::size_t t = 0; t < batch.labels.size(); ++t) {
    if (batch.labels[t] != data::kIgnoredLabel) {
      const auto row = static_cast<std::int64_t>(t);
      trained_rows_.push_back(
          static_cast<std::int32_t>(row + (row / batch.length + 1) * virtual_tokens()));
      trained_labels_.push_back(batch.labels[t]);
    }
  }
  return {{batch.samples, batch.length + virtual_tokens()},
          batch.ids,
          {std::ssize(trained_rows_), trained_rows_, trained_labels_},
          real_lengths_};
}

DecoderBlock::Saved CausalLM::saved(std::size_t layer, const Sequences& sequences) const {
  return saved_[layer].first_tokens(sequences.tokens());
}

void CausalLM::follow_length(std::int64_t length) {
  const std::int64_t wanted = model::rope_length_class(spec_, length);
  if (wanted != rope_class_) {
    fill_rope_table(spec_, length, rope_.whole);
    rope_class_ = wanted;
  }
}

void CausalLM::embed(const Exec& exec, const Input& input, View stream) {
  const std::int64_t tokens = input.sequences.tokens();
  const std::int64_t length = input.sequences.length;
  const View embedded = spec_.embedding_norm ? embedded_.row_range(0, tokens) : stream;
  if (options_.prompt != nullptr) {
    embed_after_prompt(exec, input, embedded);
  } else {
    exec.ops.embed(input.ids, parameters_.embedding().value, embedded);
    if (spec_.embedding_scale != 1.0) {
      exec.ops.scale(spec_.embedding_scale, embedded, embedded);
    }
  }
  if (spec_.positions == model::PositionKind::Learned) {
    const View positions = parameters_.positions().value.row_range(0, length);
    for (std::int64_t first = 0; first < tokens; first += length) {
      exec.ops.add(positions, embedded.row_range(first, length));
    }
  }
  if (spec_.embedding_norm) {
    embedding_norm_.forward(exec, embedded, stream, embedded_stats_.col_range(0, tokens));
  }
}

void CausalLM::embed_after_prompt(const Exec& exec, const Input& input, View embedded) {
  const View table = parameters_.embedding().value;
  const std::int64_t length = input.sequences.length;
  const std::int64_t first = virtual_tokens();
  for (std::int64_t sample = 0; sample < input.sequences.count; ++sample) {
    const View rows = embedded.row_range(sample * length, length);
    const View tokens = rows.row_range(first, length - first);
    exec.ops.copy(options_.prompt->value, rows.row_range(0, first));
    const auto begin = static_cast<std::size_t>(sample * tokens.rows);
    exec.ops.embed(input.ids.empty()
                       ? input.ids
                       : input.ids.subspan(begin, static_cast<std::size_t>(tokens.rows)),
                   table, tokens);
    if (spec_.embedding_scale != 1.0) {
      const View scaled = model::family_of(spec_).scaled_table ? tokens : rows;
      exec.ops.scale(spec_.embedding_scale, scaled, scaled);
    }
  }
}

void CausalLM::prompt_backward(const Exec& exec, const Input& input, View dembedded) {
  const View gradient = options_.prompt->gradient;
  const std::int64_t length = input.sequences.length;
  if (!exec.accumulate) {
    exec.ops.fill(gradient, 0.0);
  }
  for (std::int64_t sample = 0; sample < input.sequences.count; ++sample) {
    const View rows = dembedded.row_range(sample * length, virtual_tokens());
    if (spec_.embedding_scale != 1.0 && !model::family_of(spec_).scaled_table) {
      exec.ops.scale(spec_.embedding_scale, rows, rows);
    }
    exec.ops.add(rows, gradient);
  }
}

void CausalLM::embed_backward(const Exec& exec, const Input& input, View dstream) {
  const Parameter& embedding = parameters_.embedding();
  const Parameter& positions = parameters_.positions();
  if (options_.prompt == nullptr && !embedding.trained() && !positions.trained() &&
      !parameters_.embedding_norm().trained() && !parameters_.embedding_norm_bias().trained()) {
    return;
  }
  const std::int64_t tokens = input.sequences.tokens();
  const std::int64_t length = input.sequences.length;
  Scratch scratch(exec.arena);
  View dembedded = dstream;
  if (spec_.embedding_norm) {
    dembedded = scratch.take(tokens, dstream.cols, dstream.dtype);
    exec.ops.fill(dembedded, 0.0);
    embedding_norm_.backward(exec, dstream, embedded_.row_range(0, tokens),
                             embedded_stats_.col_range(0, tokens), dembedded);
  }
  if (positions.trained()) {
    const View gradient = positions.gradient;
    if (!exec.accumulate) {
      exec.ops.fill(gradient, 0.0);
    }
    for (std::int64_t first = 0; first < tokens; first += length) {
      exec.ops.add(dembedded.row_range(first, length), gradient.row_range(0, length));
    }
  }
  if (options_.prompt != nullptr) {
    TB_CHECK(!embedding.trained());
    prompt_backward(exec, input, dembedded);
  }
  if (!embedding.trained()) {
    return;
  }
  if (spec_.embedding_scale != 1.0) {
    exec.ops.scale(spec_.embedding_scale, dembedded, dembedded);
  }
  // A tied head has already left its part in the same gradient.
  if (!parameters_.tied_head() && !exec.accumulate) {
    exec.ops.fill(embedding.gradient, 0.0);
  }
  exec.ops.embed_backward(input.ids, dembedded, embedding.gradient);
}

void CausalLM::forward(const Exec& exec, const Input& input) {
  const std::int64_t tokens = input.sequences.tokens();
  Scratch scratch(exec.arena);
  const View delta = scratch.take(tokens, final_input_.cols, final_input_.dtype);
  embed(exec, input, saved(0, input.sequences).input);
  if (expert_load_.rows > 0) {
    exec.ops.fill(expert_load_, 0.0);
  }
  Residual before;
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const DecoderBlock::Saved kept = saved(layer, input.sequences);
    blocks_[layer].forward(exec, input.sequences, layer > 0 ? &before : nullptr, kept, delta);
    if (expert_load_.rows > 0) {
      exec.ops.add_expert_load(kept.experts.probabilities, kept.experts.visits, input.real(),
                               expert_load_);
    }
    before = {kept.middle, delta};
  }
  final_norm_.forward_sum(exec, before.stream, before.delta, final_input_.row_range(0, tokens),
                          hidden_.row_range(0, tokens), final_stats_.col_range(0, tokens));
}

double CausalLM::router_loss(const Exec& exec, const Input& input) {
  if (expert_load_.rows == 0) {
    return 0.0;
  }
  const double share = spec_.experts.loss_share;
  const std::int64_t rows = spec_.layers * input.real().count();
  return share * exec.ops.expert_balance(expert_load_, rows, share, router_slope_);
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
                         final_stats_.col_range(0, tokens), dstream);
  }
  const RouterPull pull{router_slope_, input.real()};
  for (std::size_t layer = blocks_.size(); layer-- > 0;) {
    const DecoderBlock::Saved kept = saved(layer, input.sequences);
    // What the last block shares with the others is still as its forward left it.
    if (layer + 1 < blocks_.size()) {
      blocks_[layer].refill(exec, input.sequences, options_.recompute, kept);
    }
    blocks_[layer].backward(exec, input.sequences, kept, dstream, pull);
  }
  embed_backward(exec, input, dstream);
  return loss;
}

}  // namespace tunebench::engine
