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
  enum class Type { None, Linear, Llama3 };
  Type type = Type::None;
  double factor = 1.0;
  double low_freq_factor = 1.0;
  double high_freq_factor = 4.0;
  std::int64_t original_max_positions = 0;
};

/// The shape of a decoder-only language model, as config.json tells it. No weights.
/// Letters as everywhere: D width, H heads, K kv-heads, E head width, F feed-forward width,
/// V vocabulary.
struct ModelSpec {
  std::string name;        ///< preset name, or the folder it was read from
  std::string model_type;  ///< llama, mistral, qwen2
  std::int64_t vocabulary = 0;
  std::int64_t width = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_width = 0;
  std::int64_t feed_forward = 0;
  std::int64_t max_positions = 0;
  double rms_epsilon = 1e-5;
  double rope_theta = 10000.0;
  RopeScaling rope_scaling;
  bool tied_head = false;    ///< the head is the embedding
  bool qkv_bias = false;     ///< q, k and v projections carry a bias
  bool output_bias = false;  ///< the attention output projection carries a bias
  bool mlp_bias = false;     ///< gate, up and down projections carry a bias
  double initializer_range = 0.02;
  std::string stored_dtype = "float32";  ///< torch_dtype of config.json
  std::optional<std::int64_t> bos_token;
  std::vector<std::int64_t> eos_tokens;
  std::optional<std::int64_t> pad_token;
};

/// Reads config.json of the Llama family. Unknown rope types, activations other than silu, an
/// architecture this program does not know, impossible sizes (zero, negative, heads not a multiple
/// of kv-heads, products beyond 2^40) are refused by key and value.
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

/// Every tensor that a checkpoint of this shape holds, in file order; a tied head is not listed.
std::vector<TensorShape> tensor_shapes(const ModelSpec& spec);

/// Exact: the sum over tensor_shapes. A tied head counts once.
std::int64_t parameter_count(const ModelSpec& spec);

/// Arithmetic of one training step without recompute, per token of a sequence of `length`, causal
/// attention counted once: forward 2 FLOP per weight and token, backward twice that.
/// Formulas: docs/metrics.md.
struct TrainingFlops {
  double projections = 0;  ///< q, k, v, o
  double mlp = 0;
  double head = 0;
  double attention = 0;  ///< scores and values, causal half
  [[nodiscard]] double forward() const { return projections + mlp + head + attention; }
  [[nodiscard]] double forward_backward() const { return 3.0 * forward(); }
};
TrainingFlops training_flops_per_token(const ModelSpec& spec, std::int64_t length);

/// Radians per position of each of the head_width / 2 rotated pairs, scaling included.
/// Sources: Su et al. 2021, arXiv:2104.09864; linear: arXiv:2306.15595; llama3: wavelengths
/// above original_max_positions / low_freq_factor are stretched by `factor`, those below
/// original_max_positions / high_freq_factor kept, the ones between blended.
std::vector<double> rope_frequencies(const ModelSpec& spec);

/// Bytes of full fine-tuning in float32 that do not depend on the batch: weights, gradients, two
/// AdamW moments.
std::int64_t state_bytes_full_fine_tuning(const ModelSpec& spec);

}  // namespace tunebench::model
