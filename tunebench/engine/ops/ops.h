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
/// is [H*E queries | K*E keys | K*E values]; interleaved, with H = K, it is
/// [query | key | value] of the first head, then of the second, ...
struct Heads {
  std::int64_t query = 0;
  std::int64_t key_value = 0;
  std::int64_t width = 0;
  bool interleaved = false;
  [[nodiscard]] std::int64_t query_cols() const { return query * width; }
  [[nodiscard]] std::int64_t key_value_cols() const { return key_value * width; }
  [[nodiscard]] std::int64_t fused_cols() const { return (query + 2 * key_value) * width; }
  /// First columns in a fused row of what query head `head` works with.
  [[nodiscard]] std::int64_t query_col(std::int64_t head) const {
    return head * width * (interleaved ? 3 : 1);
  }
  [[nodiscard]] std::int64_t key_col(std::int64_t head) const {
    return interleaved ? query_col(head) + width
                       : query_cols() + head / (query / key_value) * width;
  }
  [[nodiscard]] std::int64_t value_col(std::int64_t head) const {
    return key_col(head) + (interleaved ? width : key_value_cols());
  }
};

/// How scores become probabilities.
struct Scoring {
  double scale = 1.0;       ///< of the products of queries and keys
  std::int64_t window = 0;  ///< positions a token sees, itself included; 0: all before it
  double cap = 0.0;         ///< c: scaled scores s become c tanh(s / c); 0: they stay
  bool alibi = false;       ///< alibi_slope(head) is taken off for each position of distance
};

/// The slope of one of `heads` heads: a geometric series for a power of two, and every other member
/// of the next finer one for the rest. Source: Press et al. 2021, arXiv:2108.12409.
double alibi_slope(std::int64_t head, std::int64_t heads);

/// What a normalisation multiplies with: `offset` + values, one row.
struct NormWeight {
  // NOLINTNEXTLINE(google-explicit-constructor): a plain weight is one with no offset.
  NormWeight(View weight, double plus = 0.0) : values(weight), offset(plus) {}
  View values;
  double offset = 0.0;
};

/// Silu: x sigmoid(x). Gelu: x Phi(x), GeluTanh its approximation by the hyperbolic tangent.
/// Source: Hendrycks and Gimpel 2016, arXiv:1606.08415.
enum class Activation { Silu, GeluTanh, Gelu };

/// Which experts the tokens of a batch visit: T tokens, k of N experts each, V = T * k visits in
/// the order of their expert and, for one expert, of their token. All views are I32.
struct Visits {
  View experts;  ///< [T, k]: of each token, the likeliest first
  View places;   ///< [T, k]: where the visits of each token stand
  View tokens;   ///< [1, V]: the token of each visit
  View begins;   ///< [1, N + 1]: the first visit of each expert; at the end V
  [[nodiscard]] std::int64_t count() const { return tokens.cols; }
  [[nodiscard]] std::int64_t experts_count() const { return begins.cols - 1; }
};

/// Which tokens are no padding: the first lengths[s] of sequence s, all of them without lengths.
struct RealTokens {
  Sequences sequences;
  std::span<const std::int32_t> lengths;
  [[nodiscard]] bool contains(std::int64_t token) const {
    return lengths.empty() ||
           token % sequences.length < lengths[static_cast<std::size_t>(token / sequences.length)];
  }
  [[nodiscard]] std::int64_t count() const;
};

/// What the loss of unbalanced experts adds to the gradient of a router: `gradient` [1, N] to that
/// of the probabilities of each real token. Empty: nothing.
struct RouterPull {
  View gradient;
  RealTokens real;
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

/// Which elements dropout keeps: a function of these fields and of where an element stands, so that
/// the forward pass, a recompute and the backward pass agree and no mask is kept. Element c of row
/// t of a matrix of C columns, in quarters of Q = ceil(C / 4), is dropped when word c / Q of
/// philox(seed, stream, (first_row + t) * Q + c % Q) is below threshold().
/// Source: Srivastava et al. 2014, Dropout, JMLR 15.
struct Dropout {
  double probability = 0.0;  ///< that an element becomes 0; below 1
  std::uint64_t seed = 0;
  std::uint64_t stream = 0;    ///< which draw of this seed
  std::int64_t first_row = 0;  ///< of the view, among all rows of the draw
  /// Of 2^32 values of a word, how many drop an element.
  [[nodiscard]] std::uint32_t threshold() const;
  /// What kept elements are multiplied with, so that means stay.
  [[nodiscard]] double kept_scale() const { return 1.0 / (1.0 - probability); }
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
  virtual void rms_norm(View x, NormWeight weight, double epsilon, View y, View rstd) = 0;
  /// sum = x + delta, then rms_norm of sum; bit for bit what the two steps give. sum may be x.
  virtual void add_rms_norm(View x, View delta, NormWeight weight, double epsilon, View sum, View y,
                            View rstd) = 0;
  /// dx += gradient of rms_norm; dweight (+)= its weight gradient (skipped when empty). x is the
  /// normalised input, rstd what the forward kept.
  virtual void rms_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx,
                                 View dweight, bool accumulate) = 0;
  /// y = (x - mean) * rstd * weight + bias. stats [2, tokens]: mean, then
  /// rstd[t] = 1/sqrt(variance(x[t]) + epsilon). Source: Ba et al. 2016, arXiv:1607.06450.
  virtual void layer_norm(View x, View weight, View bias, double epsilon, View y, View stats) = 0;
  /// sum = x + delta, then layer_norm of sum; bit for bit what the two steps give. sum may be x.
  virtual void add_layer_norm(View x, View delta, View weight, View bias, double epsilon, View sum,
                              View y, View stats) = 0;
  /// dx += gradient of layer_norm; dweight and dbias (+)= theirs (both skipped when empty).
  virtual void layer_norm_backward(View dy, View x, View weight, View stats, View dx, View dweight,
                                   View dbias, bool accumulate) = 0;
  /// rms_norm of each head: x and y are [tokens, n * E], the weight is E wide, rstd [tokens, n].
  virtual void head_norm(View x, NormWeight weight, double epsilon, View y, View rstd) = 0;
  /// dx = gradient of head_norm; dweight (+)= its weight gradient, over all heads (skipped when
  /// empty). dx may be dy.
  virtual void head_norm_backward(View dy, View x, NormWeight weight, View rstd, View dx,
                                  View dweight, bool accumulate) = 0;

  // --- positions ------------------------------------------------------------------------------
  /// Rotates in place the first R columns of the first H + K heads of each fused qkv row by its
  /// position's angles (position = row within its sequence). table is [positions, R]: cosines of
  /// R/2 frequencies, then sines; element i pairs with i + R/2. inverse: the transpose, which
  /// rotates back (the backward pass). Heads are not interleaved.
  /// Source: Su et al. 2021, arXiv:2104.09864, in Hugging Face's half-split layout.
  virtual void rope(View qkv, Heads heads, Sequences sequences, View table, bool inverse) = 0;

  // --- attention ------------------------------------------------------------------------------
  /// Causal attention of each sequence; query head h reads key head h / (H / K). out [tokens, H*E].
  /// lse [H, tokens]: log of the softmax denominator, kept for the backward pass, which rebuilds
  /// the probabilities. Tiles that no window reaches cost nothing.
  /// Source: Dao 2023, arXiv:2307.08691.
  virtual void attention(View qkv, Heads heads, Sequences sequences, const Scoring& scoring,
                         View out, View lse) = 0;
  /// dqkv = gradient; dout and out [tokens, H*E]. dqkv may not be qkv.
  virtual void attention_backward(View dout, View qkv, View out, View lse, Heads heads,
                                  Sequences sequences, const Scoring& scoring, View dqkv) = 0;

  // --- feed-forward ---------------------------------------------------------------------------
  /// h = activation(gate) * up; gate_up [tokens, 2F] is [gate | up], h [tokens, F].
  /// Source: Shazeer 2020, arXiv:2002.05202.
  virtual void gated(Activation activation, View gate_up, View h) = 0;
  /// dgate_up from dh and gate_up. dgate_up may be gate_up.
  virtual void gated_backward(Activation activation, View gate_up, View dh, View dgate_up) = 0;
  /// y = activation(x).
  virtual void activate(Activation activation, View x, View y) = 0;
  /// dx = gradient. dx may be x.
  virtual void activate_backward(Activation activation, View x, View dy, View dx) = 0;

  // --- mixture of experts ---------------------------------------------------------------------
  /// Softmax of logits [T, N] in place, which leaves probabilities; then each token visits the k
  /// experts of its highest logits, of equal ones the first. weights [1, V] are the probabilities
  /// of the visited experts, with `renormalise` over the sum of the token's k. Fills `visits`.
  /// Source: Shazeer et al. 2017, arXiv:1701.06538.
  virtual void choose_experts(View logits, bool renormalise, View weights,
                              const Visits& visits) = 0;
  /// dlogits = gradient by the logits from that of the weights, dweights [1, V].
  virtual void choose_experts_backward(View dweights, View probabilities, const Visits& visits,
                                       bool renormalise, const RouterPull& pull, View dlogits) = 0;
  /// load [2, N] += visits to each expert, then its probabilities, both summed over real tokens.
  virtual void add_expert_load(View probabilities, const Visits& visits, const RealTokens& real,
                               View load) = 0;
  /// N * sum over experts of load[0] * load[1] / rows^2, which is least when all are visited
  /// alike; gradient [1, N] = gradient_scale times its slope by a probability, where the numbers of
  /// visits count as constants. 0 when there are no rows.
  /// Source: Fedus et al. 2021, arXiv:2101.03961, equations 4 to 6.
  virtual double expert_balance(View load, std::int64_t rows, double gradient_scale,
                                View gradient) = 0;
  /// out[t] (+)= sum of in over the visits of token t. in [V, D], out [T, D].
  virtual void sum_visits(View in, const Visits& visits, View out, bool accumulate) = 0;
  /// y[v] = op(w of the expert of v) x[v]; w is [N * out, in], the matrices of all experts, which
  /// `transpose_w` says to multiply from the right as x w^T ([V, in] to [V, out]), else as x w
  /// ([V, out] to [V, in]). Experts without visits cost nothing.
  virtual void expert_products(bool transpose_w, View x, View w, const Visits& visits, View y) = 0;
  /// dw (+)= for each expert dy^T x over its visits. dy [V, out], x [V, in], dw [N * out, in].
  virtual void expert_weight_gradients(View dy, View x, const Visits& visits, View dw,
                                       bool accumulate) = 0;
  /// h[t] = weights[t] * activation(gate) * up; weights [1, rows].
  virtual void weighted_gated(Activation activation, View gate_up, View weights, View h) = 0;
  /// dgate_up and dweights [1, rows] from dh. dgate_up may be gate_up.
  virtual void weighted_gated_backward(Activation activation, View gate_up, View weights, View dh,
                                       View dgate_up, View dweights) = 0;
  /// y = 1 / (1 + e^-x). y may be x.
  virtual void sigmoid(View x, View y) = 0;
  /// dx = dy * y * (1 - y): the gradient of sigmoid from its result. dx may be dy.
  virtual void sigmoid_backward(View y, View dy, View dx) = 0;

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
  /// y = factor * x. y may be x.
  virtual void scale(double factor, View x, View y) = 0;
  /// y = cap * tanh(x / cap). y may be x.
  virtual void soft_cap(double cap, View x, View y) = 0;
  /// dx = dy * (1 - (y / cap)^2): the gradient of soft_cap from its result. dx may be dy.
  virtual void soft_cap_backward(double cap, View y, View dy, View dx) = 0;
  virtual double sum_squares(View x) = 0;
  /// y (+)= x with elements dropped and the rest scaled; the gradient is the same call on dy. y may
  /// be x when it is overwritten.
  virtual void dropout(const Dropout& which, View x, View y, bool accumulate) = 0;

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
