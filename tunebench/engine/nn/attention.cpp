#include "tunebench/engine/nn/attention.h"

namespace tunebench::engine {

Attention::Saved Attention::Saved::first_tokens(std::int64_t tokens) const {
  return {qkv.row_range(0, tokens), raw_qk.first_rows(tokens), qk_rstd.first_rows(tokens),
          out.row_range(0, tokens), lse.col_range(0, tokens)};
}

Attention::Attention(const Spec& spec, const BlockParameters& parameters)
    : spec_(spec),
      query_norm_(parameters.query_norm),
      key_norm_(parameters.key_norm),
      qkv_(parameters.qkv, parameters.qkv_bias, parameters.adapter(Projection::Qkv)),
      output_(parameters.output, parameters.output_bias, parameters.adapter(Projection::Output)) {}

std::array<Attention::HeadPart, 2> Attention::head_parts() const {
  const Heads& heads = spec_.heads;
  const std::int64_t query_stats = spec_.whole_qk_norm ? 1 : heads.query;
  return {HeadPart{0, heads.query_cols(), 0, query_stats, query_norm_},
          HeadPart{heads.query_cols(), heads.key_value_cols(), query_stats,
                   spec_.qk_stats() - query_stats, key_norm_}};
}

void Attention::normalise_heads(const Exec& exec, const Saved& saved) const {
  exec.ops.copy(saved.qkv.col_range(0, spec_.qk_cols()), saved.raw_qk);
  for (const HeadPart& part : head_parts()) {
    exec.ops.head_norm(saved.raw_qk.col_range(part.col, part.cols), spec_.norm.weight(part.weight),
                       spec_.norm.epsilon, saved.qkv.col_range(part.col, part.cols),
                       saved.qk_rstd.col_range(part.stat, part.stats));
  }
}

void Attention::normalise_heads_backward(const Exec& exec, const Saved& saved, View dqkv) const {
  for (const HeadPart& part : head_parts()) {
    const View gradient = dqkv.col_range(part.col, part.cols);
    exec.ops.head_norm_backward(gradient, saved.raw_qk.col_range(part.col, part.cols),
                                spec_.norm.weight(part.weight),
                                saved.qk_rstd.col_range(part.stat, part.stats), gradient,
                                part.weight.gradient, exec.accumulate);
  }
}

void Attention::forward(const Exec& exec, Sequences sequences, View x, const Saved& saved,
                        View y) const {
  qkv_.forward(exec, x, saved.qkv);
  if (spec_.qk_norm) {
    normalise_heads(exec, saved);
  }
  if (spec_.rope_table.rows > 0) {
    exec.ops.rope(saved.qkv, spec_.heads, sequences, spec_.rope_table, false);
  }
  exec.ops.attention(saved.qkv, spec_.heads, sequences, spec_.scoring, saved.out, saved.lse);
  output_.forward(exec, saved.out, y);
}

void Attention::backward(const Exec& exec, Sequences sequences, View dy, View x, const Saved& saved,
                         View dx) const {
  Scratch scratch(exec.arena);
  const View dout = scratch.take(saved.out.rows, saved.out.cols, saved.out.dtype);
  const View dqkv = scratch.take(saved.qkv.rows, saved.qkv.cols, saved.qkv.dtype);
  output_.backward(exec, dy, saved.out, dout);
  exec.ops.attention_backward(dout, saved.qkv, saved.out, saved.lse, spec_.heads, sequences,
                              spec_.scoring, dqkv);
  if (spec_.rope_table.rows > 0) {
    exec.ops.rope(dqkv, spec_.heads, sequences, spec_.rope_table, true);
  }
  if (spec_.qk_norm) {
    normalise_heads_backward(exec, saved, dqkv);
  }
  qkv_.backward(exec, dqkv, x, dx);
}

}  // namespace tunebench::engine
