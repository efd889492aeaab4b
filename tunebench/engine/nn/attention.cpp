#include "tunebench/engine/nn/attention.h"

namespace tunebench::engine {

Attention::Saved Attention::Saved::first_tokens(std::int64_t tokens) const {
  return {qkv.row_range(0, tokens), out.row_range(0, tokens), lse.col_range(0, tokens)};
}

Attention::Attention(const Spec& spec, const BlockParameters& parameters)
    : spec_(spec),
      qkv_(parameters.qkv, parameters.qkv_bias),
      output_(parameters.output, parameters.output_bias) {}

void Attention::forward(const Exec& exec, Sequences sequences, View x, const Saved& saved,
                        View y) const {
  qkv_.forward(exec, x, saved.qkv);
  exec.ops.rope(saved.qkv, spec_.heads, sequences, spec_.rope_table, false);
  exec.ops.attention(saved.qkv, spec_.heads, sequences, spec_.scale, saved.out, saved.lse);
  output_.forward(exec, saved.out, y);
}

void Attention::backward(const Exec& exec, Sequences sequences, View dy, View x, const Saved& saved,
                         View dx) const {
  Scratch scratch(exec.arena);
  const View dout = scratch.take(saved.out.rows, saved.out.cols, saved.out.dtype);
  const View dqkv = scratch.take(saved.qkv.rows, saved.qkv.cols, saved.qkv.dtype);
  output_.backward(exec, dy, saved.out, dout);
  exec.ops.attention_backward(dout, saved.qkv, saved.out, saved.lse, spec_.heads, sequences,
                              spec_.scale, dqkv);
  exec.ops.rope(dqkv, spec_.heads, sequences, spec_.rope_table, true);
  qkv_.backward(exec, dqkv, x, dx);
}

}  // namespace tunebench::engine
