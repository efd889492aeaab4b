#include "tunebench/model/model_spec.h"

#include <cmath>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace tunebench::model {
namespace {

class ShapeList {
 public:
  void add(std::string name, std::vector<std::int64_t> shape) {
    shapes_.push_back({std::move(name), std::move(shape)});
  }

  void add_projection(const std::string& name, std::int64_t out, std::int64_t in, bool bias) {
    add(name + ".weight", {out, in});
    if (bias) {
      add(name + ".bias", {out});
    }
  }

  std::vector<TensorShape> take() { return std::move(shapes_); }

 private:
  std::vector<TensorShape> shapes_;
};

double llama3_frequency(double frequency, const RopeScaling& scaling) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const double original = static_cast<double>(scaling.original_max_positions);
  if (wavelength < original / scaling.high_freq_factor) {
    return frequency;
  }
  if (wavelength > original / scaling.low_freq_factor) {
    return frequency / scaling.factor;
  }
  const double kept = (original / wavelength - scaling.low_freq_factor) /
                      (scaling.high_freq_factor - scaling.low_freq_factor);
  return kept * frequency + (1.0 - kept) * frequency / scaling.factor;
}

}  // namespace

std::int64_t TensorShape::elements() const {
  std::int64_t product = 1;
  for (const std::int64_t size : shape) {
    product *= size;
  }
  return product;
}

std::vector<TensorShape> tensor_shapes(const ModelSpec& spec) {
  const std::int64_t q = spec.heads * spec.head_width;
  const std::int64_t kv = spec.kv_heads * spec.head_width;
  ShapeList list;
  list.add("model.embed_tokens.weight", {spec.vocabulary, spec.width});
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    list.add_projection(prefix + "self_attn.q_proj", q, spec.width, spec.qkv_bias);
    list.add_projection(prefix + "self_attn.k_proj", kv, spec.width, spec.qkv_bias);
    list.add_projection(prefix + "self_attn.v_proj", kv, spec.width, spec.qkv_bias);
    list.add_projection(prefix + "self_attn.o_proj", spec.width, q, spec.output_bias);
    list.add_projection(prefix + "mlp.gate_proj", spec.feed_forward, spec.width, spec.mlp_bias);
    list.add_projection(prefix + "mlp.up_proj", spec.feed_forward, spec.width, spec.mlp_bias);
    list.add_projection(prefix + "mlp.down_proj", spec.width, spec.feed_forward, spec.mlp_bias);
    list.add(prefix + "input_layernorm.weight", {spec.width});
    list.add(prefix + "post_attention_layernorm.weight", {spec.width});
  }
  list.add("model.norm.weight", {spec.width});
  if (!spec.tied_head) {
    list.add("lm_head.weight", {spec.vocabulary, spec.width});
  }
  return list.take();
}

std::int64_t parameter_count(const ModelSpec& spec) {
  std::int64_t total = 0;
  for (const TensorShape& tensor : tensor_shapes(spec)) {
    total += tensor.elements();
  }
  return total;
}

TrainingFlops training_flops_per_token(const ModelSpec& spec, std::int64_t length) {
  const double layers = static_cast<double>(spec.layers);
  const double width = static_cast<double>(spec.width);
  const double q = static_cast<double>(spec.heads * spec.head_width);
  const double kv = static_cast<double>(spec.kv_heads * spec.head_width);
  // Position t looks at t + 1 positions, so a token of the sequence at (length + 1) / 2 of them.
  const double seen = (static_cast<double>(length) + 1.0) / 2.0;
  return {
      .projections = 2.0 * layers * width * (2.0 * q + 2.0 * kv),
      .mlp = 2.0 * layers * 3.0 * width * static_cast<double>(spec.feed_forward),
      .head = 2.0 * width * static_cast<double>(spec.vocabulary),
      .attention = 2.0 * layers * 2.0 * q * seen,
  };
}

std::vector<double> rope_frequencies(const ModelSpec& spec) {
  std::vector<double> frequencies;
  for (std::int64_t pair = 0; pair < spec.head_width / 2; ++pair) {
    const double exponent = 2.0 * static_cast<double>(pair) / static_cast<double>(spec.head_width);
    double frequency = std::pow(spec.rope_theta, -exponent);
    if (spec.rope_scaling.type == RopeScaling::Type::Linear) {
      frequency /= spec.rope_scaling.factor;
    } else if (spec.rope_scaling.type == RopeScaling::Type::Llama3) {
      frequency = llama3_frequency(frequency, spec.rope_scaling);
    }
    frequencies.push_back(frequency);
  }
  return frequencies;
}

std::int64_t state_bytes_full_fine_tuning(const ModelSpec& spec) {
  constexpr std::int64_t kCopies = 4;  // weight, gradient, two moments
  return parameter_count(spec) * kCopies * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace tunebench::model
