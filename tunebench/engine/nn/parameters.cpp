#include "tunebench/engine/nn/parameters.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/error.h"

namespace tunebench::engine {
namespace {

/// Parameters begin at multiples of this many elements: 64 bytes of float32.
constexpr std::int64_t kAlignedElements = 16;

/// `rows` x `cols` elements of a flat buffer from `offset` on.
View flat_part(const View& flat, std::int64_t offset, std::int64_t rows, std::int64_t cols) {
  return {flat.col_range(offset, rows * cols).data, flat.dtype, rows, cols, cols};
}

/// Rows of a matrix, or columns of a vector.
View named_part(const View& whole, bool vector, std::int64_t first, std::int64_t count) {
  return vector ? whole.col_range(first, count) : whole.row_range(first, count);
}

/// How a tensor of a new model begins. The weight of a norm that multiplies with 1 + weight is 0.
Parameters::Initial initial_of(const model::ParameterGroup& group, const model::ModelSpec& spec) {
  if (!group.vector()) {
    return Parameters::Initial::Normal;
  }
  return group.bias() || spec.norm == model::NormKind::RmsPlusOne ? Parameters::Initial::Zero
                                                                  : Parameters::Initial::One;
}

std::int64_t rows_of(const model::ParameterGroup& group) {
  return group.vector() ? 1 : group.outputs();
}

std::int64_t cols_of(const model::ParameterGroup& group) {
  return group.vector() ? group.outputs() : group.inputs;
}

}  // namespace

Parameter& Parameters::place_of(const model::ParameterGroup& group) {
  using Role = model::ParameterRole;
  const auto block = [&]() -> BlockParameters& {
    return blocks_[static_cast<std::size_t>(group.layer)];
  };
  switch (group.role) {
    case Role::Embedding:
      return embedding_;
    case Role::Positions:
      return positions_;
    case Role::EmbeddingNorm:
      return embedding_norm_;
    case Role::EmbeddingNormBias:
      return embedding_norm_bias_;
    case Role::Qkv:
      return block().qkv;
    case Role::QkvBias:
      return block().qkv_bias;
    case Role::Output:
      return block().output;
    case Role::OutputBias:
      return block().output_bias;
    case Role::Router:
      return block().router;
    case Role::ExpertsGateUp:
      return block().experts_gate_up;
    case Role::ExpertsDown:
      return block().experts_down;
    case Role::SharedGate:
      return block().shared_gate;
    case Role::GateUp:
      return block().gate_up;
    case Role::GateUpBias:
      return block().gate_up_bias;
    case Role::Down:
      return block().down;
    case Role::DownBias:
      return block().down_bias;
    case Role::InputNorm:
      return block().input_norm;
    case Role::InputNormBias:
      return block().input_norm_bias;
    case Role::QueryNorm:
      return block().query_norm;
    case Role::KeyNorm:
      return block().key_norm;
    case Role::PostAttentionNorm:
      return block().post_attention_norm;
    case Role::MiddleNorm:
      return block().middle_norm;
    case Role::MiddleNormBias:
      return block().middle_norm_bias;
    case Role::PostMlpNorm:
      return block().post_mlp_norm;
    case Role::FinalNorm:
      return final_norm_;
    case Role::FinalNormBias:
      return final_norm_bias_;
    case Role::Head:
      return head_;
  }
  throw Error(ErrorCode::Internal, "a parameter has no place");
}

Parameters::Parameters(const model::ModelSpec& spec, DType dtype, Arena& arena)
    : tied_(spec.tied_head), blocks_(static_cast<std::size_t>(spec.layers)) {
  const std::vector<model::ParameterGroup> groups = model::parameter_groups(spec);
  std::vector<std::int64_t> offsets(groups.size());
  std::int64_t total = 0;
  for (const bool decays : {true, false}) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (groups[i].vector() != decays) {
        offsets[i] = total;
        const std::int64_t elements = rows_of(groups[i]) * cols_of(groups[i]);
        total += (elements + kAlignedElements - 1) / kAlignedElements * kAlignedElements;
      }
    }
    decayed_elements_ = decays ? total : decayed_elements_;
  }
  values_ = arena.persistent("weights", 1, total, dtype);
  gradients_ = arena.persistent("gradients", 1, total, dtype);
  first_moments_ = arena.persistent("optimizer", 1, total, dtype);
  second_moments_ = arena.persistent("optimizer", 1, total, dtype);

  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const model::ParameterGroup& group = groups[i];
    Parameter& target = place_of(group);
    target = {flat_part(values_, offsets[i], rows_of(group), cols_of(group)),
              flat_part(gradients_, offsets[i], rows_of(group), cols_of(group))};
    std::int64_t first = 0;
    for (const model::ParameterGroup::Part& part : group.parts) {
      named_.push_back({part.name,
                        {named_part(target.value, group.vector(), first, part.outputs),
                         named_part(target.gradient, group.vector(), first, part.outputs)},
                        initial_of(group, spec)});
      first += part.outputs;
    }
  }
}

const Parameters::Named& Parameters::find(std::string_view name) const {
  const auto found = std::find_if(named_.begin(), named_.end(),
                                  [&](const Named& named) { return named.name == name; });
  if (found == named_.end()) {
    throw Error(ErrorCode::NotFound, fmt::format("the model has no tensor '{}'", name));
  }
  return *found;
}

}  // namespace tunebench::engine
