#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/engine/core/arena.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/model/model_spec.h"
#include "tunebench/model/parameter_groups.h"

namespace tunebench::engine {

/// A trainable matrix and its gradient. No rows: the model has none (a missing bias).
struct Parameter {
  View value;
  View gradient;
  [[nodiscard]] bool exists() const { return value.rows > 0; }
};

/// The parameters of one decoder block. Projections that read the same input are one matrix:
/// qkv [(H + 2K) * E, D], gate_up [2F, D] ([F, D] without gates). Biases are [1, out]. With experts
/// these hold their matrices one below the other, [N * 2F, D] and [N * D, F], and gate_up and down
/// are those of the shared expert.
struct BlockParameters {
  Parameter input_norm;
  Parameter input_norm_bias;
  Parameter qkv;
  Parameter qkv_bias;
  Parameter query_norm;
  Parameter key_norm;
  Parameter output;
  Parameter output_bias;
  Parameter post_attention_norm;
  Parameter middle_norm;
  Parameter middle_norm_bias;
  Parameter router;
  Parameter experts_gate_up;
  Parameter experts_down;
  Parameter shared_gate;
  Parameter gate_up;
  Parameter gate_up_bias;
  Parameter down;
  Parameter down_bias;
  Parameter post_mlp_norm;
};

/// All parameters of a model, with gradients and AdamW moments, each kind in one flat buffer, so
/// that the optimizer and the gradient norm are single passes. What weight decay touches comes
/// first. Gaps between parameters (alignment) hold zeros and stay zero.
class Parameters {
 public:
  Parameters(const model::ModelSpec& spec, DType dtype, Arena& arena);

  /// How a tensor of a new model begins.
  enum class Initial { Normal, One, Zero };

  /// One tensor under its Hugging Face name: some rows of a fused parameter. A vector is one row.
  struct Named {
    std::string name;
    Parameter parameter;
    Initial initial = Initial::Normal;
  };
  /// In the order of model::tensor_shapes, with the same elements; a tied head is not listed.
  [[nodiscard]] const std::vector<Named>& named() const { return named_; }
  /// Errors: NotFound naming the tensor.
  [[nodiscard]] const Named& find(std::string_view name) const;

  [[nodiscard]] const Parameter& embedding() const { return embedding_; }
  /// Learned positions [max_positions, D], if there are.
  [[nodiscard]] const Parameter& positions() const { return positions_; }
  [[nodiscard]] const Parameter& embedding_norm() const { return embedding_norm_; }
  [[nodiscard]] const Parameter& embedding_norm_bias() const { return embedding_norm_bias_; }
  [[nodiscard]] const std::vector<BlockParameters>& blocks() const { return blocks_; }
  [[nodiscard]] const Parameter& final_norm() const { return final_norm_; }
  [[nodiscard]] const Parameter& final_norm_bias() const { return final_norm_bias_; }
  /// The embedding when the head is tied.
  [[nodiscard]] const Parameter& head() const { return tied_ ? embedding_ : head_; }
  [[nodiscard]] bool tied_head() const { return tied_; }

  [[nodiscard]] View values() const { return values_; }
  [[nodiscard]] View gradients() const { return gradients_; }
  [[nodiscard]] View first_moments() const { return first_moments_; }
  [[nodiscard]] View second_moments() const { return second_moments_; }
  /// Weight decay touches the first so many elements: all but norms and biases.
  [[nodiscard]] std::int64_t decayed_elements() const { return decayed_elements_; }

 private:
  Parameter& place_of(const model::ParameterGroup& group);

  bool tied_ = false;
  Parameter embedding_;
  Parameter positions_;
  Parameter embedding_norm_;
  Parameter embedding_norm_bias_;
  Parameter final_norm_;
  Parameter final_norm_bias_;
  Parameter head_;
  std::vector<BlockParameters> blocks_;
  std::vector<Named> named_;
  View values_;
  View gradients_;
  View first_moments_;
  View second_moments_;
  std::int64_t decayed_elements_ = 0;
};

}  // namespace tunebench::engine
