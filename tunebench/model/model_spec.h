#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"

namespace tunebench::model {

/// How positions beyond the trained range are mapped (config.json: rope_scaling).
struct RopeScaling {
  enum class Type { None, Linear, Llama3, Dynamic, Yarn, LongRope };
  Type type = Type::None;
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::int64_t original_max_positions = 0;
  double amplitude = 1.0;  ///< yarn, longrope: cosines and sines are multiplied with it
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  bool truncate = true;               ///< yarn: the blended range begins and ends at whole pairs
  std::vector<double> short_factors;  ///< longrope, one for each rotated pair: up to
                                      ///< original_max_positions
  std::vector<double> long_factors;   ///< longrope: beyond
};

/// What normalises the residual stream. RmsPlusOne multiplies with 1 + weight.
enum class NormKind { Rms, RmsPlusOne, Layer };

/// How a token knows where it stands. Learned: a row of a table is added to the embedding. Alibi:
/// scores fall with the distance.
enum class PositionKind { Rope, Learned, Alibi, None };

/// GeluTanh is the approximation by the hyperbolic tangent.
enum class Activation { Silu, GeluTanh, Gelu };

/// A mixture of experts in place of the feed-forward of each block: a router sends each token to
/// `chosen` of them.
struct ExpertsSpec {
  std::int64_t count = 0;  ///< 0: none, as all else here
  std::int64_t chosen = 0;
  bool renormalise = true;  ///< the weights of a token's experts are made to sum to one
  double loss_share =
      0.0;  ///< of the loss of unbalanced experts in the loss; 0: it is not computed
  std::int64_t shared = 0;   ///< feed-forward width of the expert that all tokens visit; 0: none
  bool shared_gate = false;  ///< which is multiplied with sigmoid of a projection to one number
};

/// The shape of a decoder-only language model, as config.json tells it. No weights.
/// Letters as everywhere: D width, H heads, K kv-heads, E head width, F feed-forward width,
/// V vocabulary.
struct ModelSpec {
  std::string name;        ///< preset name, or the folder it was read from
  std::string model_type;  ///< of config.json: one of families()
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_width = 0;
  std::int64_t feed_forward = 0;  ///< of each expert when there are experts
  ExpertsSpec experts;
  std::int64_t max_positions = 0;

  NormKind norm = NormKind::Rms;
  double norm_epsilon = 1e-5;
  bool embedding_norm = false;  ///< the embedding is normalised before the first block
  bool post_norms = false;      ///< each half of a block is normalised again before it is added
  bool qk_norm = false;         ///< each head of queries and keys is normalised
  bool whole_qk_norm = false;   ///< then: not each head, but all of the queries, all of the keys

  PositionKind positions = PositionKind::Rope;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling;
  std::int64_t rotary_width = 0;  ///< of a head that is rotated; 0: all of it
  double local_rope_theta = 0.0;  ///< of layers with a window, unscaled; 0: as all others

  std::int64_t window = 0;         ///< positions a token sees, itself included; 0: all before it
  std::vector<bool> local_layers;  ///< which layers have the window; empty: all of them
  double attention_scale = 0.0;    ///< of the scores; 0: 1 / sqrt(E)
  double score_cap = 0.0;          ///< c: scores become c tanh(score / c); 0: none
  double logit_cap = 0.0;          ///< the same for logits
  bool interleaved_qkv = false;    ///< the fused projection holds query, key, value head by head

  Activation activation = Activation::Silu;
  bool gated_mlp = true;  ///< down(activation(gate) * up); else down(activation(up))

  double embedding_scale = 1.0;
  double residual_scale = 1.0;  ///< of what each half of a block adds to the stream
  double logit_divisor = 1.0;   ///< logits are divided by it

  bool tied_head = false;    ///< the head is the embedding
  bool qkv_bias = false;     ///< q, k and v projections carry a bias
  bool output_bias = false;  ///< the attention output projection carries a bias
  bool mlp_bias = false;     ///< gate, up and down projections carry a bias
  double initializer_range = 0.02;
  std::string stored_dtype = "float32";  ///< torch_dtype of config.json
  std::optional<std::int64_t> bos_token;
  std::vector<std::int64_t> eos_tokens;
  std::optional<std::int64_t> pad_token;

  [[nodiscard]] std::int64_t query_width() const { return heads * head_width; }
  [[nodiscard]] std::int64_t key_width() const { return kv_heads * head_width; }
  /// Width of the feed-forward that all tokens go through; 0: there is none.
  [[nodiscard]] std::int64_t dense_feed_forward() const {
    return experts.count > 0 ? experts.shared : feed_forward;
  }
  [[nodiscard]] std::int64_t rotated() const {
    return rotary_width > 0 ? rotary_width : head_width;
  }
  /// Whether this layer sees a window only.
  [[nodiscard]] bool local(std::int64_t layer) const {
    return window > 0 && (local_layers.empty() || local_layers[static_cast<std::size_t>(layer)]);
  }
};

/// Reads config.json of one of families(). Rope types, activations and keys that change the
/// arithmetic and are not known, an architecture this program does not know, impossible sizes
/// (zero, negative, heads not a multiple of kv-heads, products beyond 2^40) are refused by key and
/// value.
/// Errors: InvalidInput, Unsupported; `origin` names the file in messages.
ModelSpec parse_model_config(const Json& config, std::string_view origin);

/// The config.json text (as a value) that parse_model_config reads back as the same shape.
Json model_config_json(const ModelSpec& spec);

/// One named tensor as Hugging Face stores it.
struct TensorShape {
  std::string name;                 ///< model.layers.0.self_attn.q_proj.weight
  std::vector<std::int64_t> shape;  ///< [out, in] for projections
  [[nodiscard]] std::int64_t elements() const;
};

/// Every tensor that a checkpoint of this shape holds, in the order of parameter_groups; a tied
/// head is not listed.
std::vector<TensorShape> tensor_shapes(const ModelSpec& spec);

/// Exact: the sum over tensor_shapes. A tied head counts once.
std::int64_t parameter_count(const ModelSpec& spec);

/// Those that one token meets: all but the experts that it does not visit.
std::int64_t active_parameter_count(const ModelSpec& spec);

/// Arithmetic of one training step without recompute, per token of a sequence of `length`, causal
/// attention counted once: forward 2 FLOP per weight and token, backward twice that.
/// Formulas: docs/metrics.md.
struct TrainingFlops {
  double projections = 0;  ///< q, k, v, o
  double mlp = 0;          ///< of experts those that a token visits, and the router
  double head = 0;
  double attention = 0;  ///< scores and values of the positions that a token sees
  [[nodiscard]] double forward() const { return projections + mlp + head + attention; }
  [[nodiscard]] double forward_backward() const { return 3.0 * forward(); }
};
TrainingFlops training_flops_per_token(const ModelSpec& spec, std::int64_t length);

/// The longest sequence that the positions are made for: max_positions, more where scaling
/// stretches them.
std::int64_t longest_sequence(const ModelSpec& spec);

/// Bytes of full fine-tuning in float32 that do not depend on the batch: weights, gradients, two
/// AdamW moments.
std::int64_t state_bytes_full_fine_tuning(const ModelSpec& spec);

}  // namespace tunebench::model
