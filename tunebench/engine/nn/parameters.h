#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/engine/core/arena.h"
#include "tunebench/engine/core/trained_memory.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/model/model_spec.h"
#include "tunebench/model/parameter_groups.h"

namespace tunebench::engine {

/// A matrix of the model, and its gradient where it is trained. No rows: the model has none (a
/// missing bias).
struct Parameter {
  /// Some rows of a projection, or columns of its bias.
  struct Part {
    std::int64_t first = 0;
    View gradient;
  };
  View value;
  View gradient;            ///< no rows: frozen, or trained in parts only
  std::vector<Part> parts;  ///< all that is trained; the whole is one part
  [[nodiscard]] bool exists() const { return value.rows > 0; }
  [[nodiscard]] bool trained() const { return gradient.rows > 0; }
};

class Adapter;

/// The projections of a block that something can be put around.
enum class Projection { Qkv, Output, GateUp, Down };
inline constexpr std::size_t kProjections = 4;

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
  std::array<const Adapter*, kProjections> adapters = {};  ///< by Projection; nullptr: none
  [[nodiscard]] const Adapter* adapter(Projection which) const {
    return adapters[static_cast<std::size_t>(which)];
  }
};

/// A matrix that a method adds to a model. Its parts are tensors of a file that follow each other
/// in its rows.
struct AddedMatrix {
  struct Part {
    std::string name;
    std::int64_t rows = 0;
  };
  std::vector<Part> parts;
  std::int64_t cols = 0;
  bool multiplies = true;  ///< it takes part in a product for each token
  [[nodiscard]] std::int64_t rows() const;
};

/// What is trained: everything of the model, or some of its tensors, and what is added to it.
struct Training {
  bool whole_model = true;
  std::vector<std::string> tensors;  ///< Hugging Face names, when it is not the whole model
  std::vector<AddedMatrix> added;
};

/// All parameters of a model, with gradients and AdamW moments of those that are trained, each kind
/// in one flat buffer, so that the optimizer and the gradient norm are single passes. What weight
/// decay touches comes first. Gaps between parameters (alignment) hold zeros and stay zero. What is
/// frozen has a value and nothing else.
class Parameters {
 public:
  /// Errors: NotFound naming a tensor to train that the model has not.
  Parameters(const model::ModelSpec& spec, DType dtype, Arena& arena,
             const Training& training = {});

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
  /// The parts of Training::added, in their order.
  [[nodiscard]] const std::vector<Named>& added() const { return added_; }
  /// Of Training::added, by place.
  [[nodiscard]] const Parameter& added_matrix(std::size_t index) const {
    return added_matrices_[index];
  }
  /// Of both lists. Errors: NotFound naming the tensor.
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

  /// Puts `adapter` around a projection; it must outlive the models made of these parameters.
  void adapt(std::int64_t layer, Projection which, const Adapter* adapter);

  [[nodiscard]] DType dtype() const { return values_.dtype; }
  [[nodiscard]] View gradients() const { return gradients_; }
  /// What the optimizer updates, in as few pieces as there can be.
  [[nodiscard]] const std::vector<TrainedMemory>& trained() const { return trained_; }
  [[nodiscard]] std::int64_t trained_elements() const { return trained_elements_; }

 private:
  struct TrainedOutputs;
  Parameter& place_of(const model::ParameterGroup& group);
  void bind(const model::ParameterGroup& group, const View& value,
            std::span<const TrainedOutputs> trained, Initial initial);
  void bind_added(const AddedMatrix& matrix, const View& value, const View& gradient);

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
  std::vector<Parameter> added_matrices_;
  std::vector<Named> added_;
  View values_;  ///< of the model
  View gradients_;
  std::vector<TrainedMemory> trained_;
  std::int64_t trained_elements_ = 0;
};

}  // namespace tunebench::engine
