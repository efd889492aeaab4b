#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tunebench/engine/core/view.h"

namespace tunebench::engine {

/// Where the sequences of a flat [tokens, features] matrix begin: `count` sequences of `length`
/// rows each, back to back. Padding stands at the end of a sequence, so causal attention never
/// looks at it from a real token.
struct Sequences {
  std::int64_t count = 0;
  std::int64_t length = 0;
  [[nodiscard]] std::int64_t tokens() const { return count * length; }
};

/// Head layout of attention: queries have H heads, keys and values K, each E wide. A fused qkv row
/// is [H*E queries | K*E keys | K*E values].
struct Heads {
  std::int64_t query = 0;
  std::int64_t key_value = 0;
  std::int64_t width = 0;
  [[nodiscard]] std::int64_t query_cols() const { return query * width; }
  [[nodiscard]] std::int64_t key_value_cols() const { return key_value * width; }
  [[nodiscard]] std::int64_t fused_cols() const { return (query + 2 * key_value) * width; }
};

/// One AdamW step (decoupled weight decay).
/// Source: Loshchilov and Hutter 2019, arXiv:1711.05101; PyTorch torch.optim.AdamW.
struct AdamwStep {
  double learning_rate = 1e-5;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0.0;
  std::int64_t step = 1;        ///< 1-based, for bias correction
  double gradient_scale = 1.0;  ///< multiplies gradients first (clipping)
};

/// The largest shapes that the calls of one model will have, for a backend's workspace.
struct Extents {
  Sequences sequences;
  Heads heads;
  std::int64_t widest = 0;     ///< most columns of any activation but the logits
  std::int64_t head_rows = 0;  ///< most rows of logits at once
  std::int64_t vocabulary = 0;
};

/// Everything the engine computes. One virtual call per fused kernel; layers never ask which
/// backend they have. All views of a call have this backend's dtype. Unless stated, outputs do not
/// overlap inputs. Shapes are checked by TB_DCHECK.
///
/// `accumulate`: false overwrites the output, true adds to it. It is the only way gradients are
/// accumulated over micro-batches.
///
/// Results do not depend on timing: the same inputs give the same bits with the same number of
/// threads. Not thread-safe; an Ops owns its threads.
class Ops {
 public:
  Ops() = default;
  virtual ~Ops();
  Ops(const Ops&) = delete;
  Ops& operator=(const Ops&) = delete;
  Ops(Ops&&) = delete;
  Ops& operator=(Ops&&) = delete;

  [[nodiscard]] virtual std::string_view name() const = 0;  ///< "ref", "cpu"
  /// Which kernels run: "avx2", "avx512", "scalar".
  [[nodiscard]] virtual std::string isa() const = 0;
  [[nodiscard]] virtual DType dtype() const = 0;
  [[nodiscard]] virtual int threads() const = 0;

  /// Bytes that this backend itself needs inside its calls (partial sums, tiles), so that they are
  /// planned with everything else. 0 unless overridden.
  [[nodiscard]] virtual std::int64_t workspace_bytes(const Extents& largest) const;
  /// Memory of workspace_bytes(), 64-byte aligned, that outlives the calls. Without it a backend
  /// makes its own when it first needs it.
  void use_workspace(View workspace) { workspace_ = workspace; }

  // --- matrix products ------------------------------------------------------------------------
  /// c = op(a) op(b) (+ c). op transposes when the flag is set. c [M, N], inner size K.
  virtual void gemm(bool transpose_a, bool transpose_b, View a, View b, View c,
                    bool accumulate) = 0;
  /// y[t, :] += bias.
  virtual void add_bias(View bias, View y) = 0;
  /// dbias (+)= sum over rows of dy.
  virtual void bias_backward(View dy, View dbias, bool accumulate) = 0;

  // --- normalisation --------------------------------------------------------------------------
  /// y = x * rstd * weight with rstd[t] = 1/sqrt(mean(x[t]^2) + epsilon). rstd is [1, tokens].
  /// Source: Zhang and Sennrich 2019, arXiv:1910.07467.
  virtual void rms_norm(View x, View weight, double epsilon, View y, View rstd) = 0;
  /// sum = x + delta, then rms_norm of sum; bit for bit what the two steps give. sum may be x.
  virtual void add_rms_norm(View x, View delta, View weight, double epsilon, View sum, View y,
                            View rstd) = 0;
  /// dx += gradient of rms_norm; dweight (+)= its weight gradient (skipped when empty). x is the
  /// normalised input, rstd what the forward kept.
  virtual void rms_norm_backward(View dy, View x, View weight, View rstd, View dx, View dweight,
                                 bool accumulate) = 0;

  // --- positions ------------------------------------------------------------------------------
  /// Rotates in place the first H + K heads of each fused qkv row by its position's angles
  /// (position = row within its sequence). table is [positions, E]: cosines of E/2 frequencies,
  /// then sines; element i pairs with i + E/2. inverse: rotate back (the backward pass).
  /// Source: Su et al. 2021, arXiv:2104.09864, in Hugging Face's half-split layout.
  virtual void rope(View qkv, Heads heads, Sequences sequences, View table, bool inverse) = 0;

  // --- attention ------------------------------------------------------------------------------
  /// Causal attention of each sequence, scores times `scale`, query head h reads key head
  /// h / (H / K). out [tokens, H*E]. lse [H, tokens]: log of the softmax denominator, kept for the
  /// backward pass, which rebuilds the probabilities.
  /// Source: Dao 2023, arXiv:2307.08691.
  virtual void attention(View qkv, Heads heads, Sequences sequences, double scale, View out,
                         View lse) = 0;
  /// dqkv = gradient; dout and out [tokens, H*E]. dqkv may not be qkv.
  virtual void attention_backward(View dout, View qkv, View out, View lse, Heads heads,
                                  Sequences sequences, double scale, View dqkv) = 0;

  // --- feed-forward ---------------------------------------------------------------------------
  /// h = silu(gate) * up; gate_up [tokens, 2F] is [gate | up], h [tokens, F].
  /// Source: Shazeer 2020, arXiv:2002.05202.
  virtual void swiglu(View gate_up, View h) = 0;
  /// dgate_up from dh and gate_up. dgate_up may be gate_up.
  virtual void swiglu_backward(View gate_up, View dh, View dgate_up) = 0;

  // --- embedding and head -----------------------------------------------------------------------
  /// out[t] = table[ids[t]].
  virtual void embed(std::span<const std::int32_t> ids, View table, View out) = 0;
  /// dtable[ids[t]] += dout[t], in order of t.
  virtual void embed_backward(std::span<const std::int32_t> ids, View dout, View dtable) = 0;
  /// out[i] = x[rows[i]].
  virtual void gather_rows(View x, std::span<const std::int32_t> rows, View out) = 0;
  /// x = 0, then x[rows[i]] = in[i]; rows are distinct.
  virtual void scatter_rows(View in, std::span<const std::int32_t> rows, View x) = 0;
  /// logits [n, V] becomes its own gradient times `gradient_scale`; returns the sum of the n
  /// losses -log softmax(logits)[label]. Labels are valid ids.
  virtual double cross_entropy(View logits, std::span<const std::int32_t> labels,
                               double gradient_scale) = 0;

  // --- element by element -----------------------------------------------------------------------
  virtual void fill(View x, double value) = 0;
  virtual void copy(View from, View to) = 0;
  /// y += x.
  virtual void add(View x, View y) = 0;
  virtual double sum_squares(View x) = 0;

  // --- optimizer --------------------------------------------------------------------------------
  /// One pass over contiguous views of equal size.
  virtual void adamw(View parameters, View gradients, View first_moment, View second_moment,
                     const AdamwStep& step) = 0;

 protected:
  View workspace_;
};

/// Plain loops, double accumulation, one thread, never optimised: what everything is compared with.
std::unique_ptr<Ops> make_ref_ops(DType dtype);

/// Computes nothing: a model run over it on a planning arena shows how deep its scratch gets.
std::unique_ptr<Ops> make_planning_ops(DType dtype);

/// Names and versions of the libraries that make_cpu_ops computes with, as they are at run time.
std::vector<std::pair<std::string, std::string>> cpu_ops_libraries();

/// oneDNN matrix products and Highway kernels, float32. threads < 1: all usable cores.
std::unique_ptr<Ops> make_cpu_ops(int threads = 0);

}  // namespace tunebench::engine
