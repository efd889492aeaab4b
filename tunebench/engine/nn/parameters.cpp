#include "tunebench/engine/nn/parameters.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/error.h"

namespace tunebench::engine {

/// Outputs of a group that are trained, and where their gradient begins.
struct Parameters::TrainedOutputs {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t gradient = 0;
};

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

std::int64_t aligned(std::int64_t elements) {
  return (elements + kAlignedElements - 1) / kAlignedElements * kAlignedElements;
}

std::int64_t rows_of(const model::ParameterGroup& group) {
  return group.vector() ? 1 : group.outputs();
}

std::int64_t cols_of(const model::ParameterGroup& group) {
  return group.vector() ? group.outputs() : group.inputs;
}

/// Places in a flat buffer, given in the order in which they are asked for.
class Places {
 public:
  explicit Places(std::size_t count) : offsets_(count) {}
  void take(std::size_t index, std::int64_t elements) {
    offsets_[index] = total_;
    total_ += aligned(elements);
  }
  [[nodiscard]] std::int64_t operator[](std::size_t index) const { return offsets_[index]; }
  [[nodiscard]] std::int64_t total() const { return total_; }

 private:
  std::vector<std::int64_t> offsets_;
  std::int64_t total_ = 0;
};

/// Which outputs of each group are trained. Neighbours stay apart unless the whole group is.
template <typename TrainedOutputs>
std::vector<std::vector<TrainedOutputs>> trained_outputs(
    const std::vector<model::ParameterGroup>& groups, const Training& training) {
  std::vector<std::vector<TrainedOutputs>> all(groups.size());
  std::size_t found = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    std::int64_t first = 0;
    for (const model::ParameterGroup::Part& part : groups[i].parts) {
      const bool named = std::find(training.tensors.begin(), training.tensors.end(), part.name) !=
                         training.tensors.end();
      if (training.whole_model || named) {
        all[i].push_back({first, part.outputs, 0});
        found += named ? 1 : 0;
      }
      first += part.outputs;
    }
    if (!all[i].empty() && all[i].size() == groups[i].parts.size()) {
      all[i] = {{0, first, 0}};
    }
  }
  if (found < training.tensors.size()) {
    throw Error(ErrorCode::NotFound, "a tensor that is to be trained is not one of the model");
  }
  return all;
}

/// The flat buffers of gradients and moments, and which values they belong to.
class TrainedBuffers {
 public:
  /// A view of values that begins at `offset` of flat memory `buffer`.
  struct Values {
    View buffer;
    std::int64_t offset = 0;
    std::int64_t elements = 0;
    bool to_the_end = false;  ///< nothing but a gap follows up to the next aligned place
  };
  /// Returns where the gradient begins.
  std::int64_t add(const Values& values, bool decays) {
    const std::int64_t size = values.to_the_end ? aligned(values.elements) : values.elements;
    const std::int64_t place = total_;
    total_ += aligned(values.elements);
    elements_ += values.elements;
    if (!pieces_.empty()) {
      Piece& last = pieces_.back();
      const bool follows = last.buffer.data == values.buffer.data && last.decays == decays &&
                           last.offset + last.size == values.offset &&
                           last.place + last.size == place;
      if (follows) {
        last.size += size;
        return place;
      }
    }
    pieces_.push_back({values.buffer, values.offset, place, size, decays});
    return place;
  }

  struct Made {
    View gradients;
    std::vector<TrainedMemory> memory;
  };
  [[nodiscard]] Made make(DType dtype, Arena& arena) const {
    Made made;
    made.gradients = arena.persistent("gradients", 1, total_, dtype);
    const View first = arena.persistent("optimizer", 1, total_, dtype);
    const View second = arena.persistent("optimizer", 1, total_, dtype);
    for (const Piece& piece : pieces_) {
      made.memory.push_back({.values = piece.buffer.col_range(piece.offset, piece.size),
                             .gradients = made.gradients.col_range(piece.place, piece.size),
                             .first_moments = first.col_range(piece.place, piece.size),
                             .second_moments = second.col_range(piece.place, piece.size),
                             .decays = piece.decays});
    }
    return made;
  }
  [[nodiscard]] std::int64_t elements() const { return elements_; }

 private:
  struct Piece {
    View buffer;
    std::int64_t offset = 0;
    std::int64_t place = 0;
    std::int64_t size = 0;
    bool decays = false;
  };
  std::vector<Piece> pieces_;
  std::int64_t total_ = 0;
  std::int64_t elements_ = 0;
};

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

Parameters::Parameters(const model::ModelSpec& spec, DType dtype, Arena& arena,
                       const Training& training)
    : tied_(spec.tied_head), blocks_(static_cast<std::size_t>(spec.layers)) {
  const std::vector<model::ParameterGroup> groups = model::parameter_groups(spec);
  const std::vector<AddedMatrix>& added = training.added;
  Places places(groups.size());
  for (const bool decays : {true, false}) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].vector() != decays) {
        places.take(i, rows_of(groups[i]) * cols_of(groups[i]));
      }
    }
  }
  Places added_places(added.size());
  for (std::size_t i = 0; i < added.size(); ++i) {
    added_places.take(i, added[i].rows() * added[i].cols);
  }
  values_ = arena.persistent("weights", 1, places.total(), dtype);
  const View added_values =
      added.empty() ? View{} : arena.persistent("weights", 1, added_places.total(), dtype);

  TrainedBuffers buffers;
  std::vector<std::vector<TrainedOutputs>> trained =
      trained_outputs<TrainedOutputs>(groups, training);
  std::vector<std::int64_t> added_gradients;
  for (const bool decays : {true, false}) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].vector() == decays) {
        continue;
      }
      const std::int64_t width = std::max<std::int64_t>(1, groups[i].inputs);
      for (TrainedOutputs& part : trained[i]) {
        part.gradient = buffers.add({.buffer = values_,
                                     .offset = places[i] + part.first * width,
                                     .elements = part.count * width,
                                     .to_the_end = part.count == groups[i].outputs()},
                                    decays);
      }
    }
    for (std::size_t i = 0; decays && i < added.size(); ++i) {
      added_gradients.push_back(buffers.add({.buffer = added_values,
                                             .offset = added_places[i],
                                             .elements = added[i].rows() * added[i].cols,
                                             .to_the_end = true},
                                            decays));
    }
  }
  TrainedBuffers::Made made = buffers.make(dtype, arena);
  gradients_ = made.gradients;
  trained_ = std::move(made.memory);
  trained_elements_ = buffers.elements();

  for (std::size_t i = 0; i < groups.size(); ++i) {
    bind(groups[i], flat_part(values_, places[i], rows_of(groups[i]), cols_of(groups[i])),
         trained[i], initial_of(groups[i], spec));
  }
  for (std::size_t i = 0; i < added.size(); ++i) {
    bind_added(added[i], flat_part(added_values, added_places[i], added[i].rows(), added[i].cols),
               flat_part(gradients_, added_gradients[i], added[i].rows(), added[i].cols));
  }
}

void Parameters::bind(const model::ParameterGroup& group, const View& value,
                      std::span<const TrainedOutputs> trained, Initial initial) {
  Parameter& target = place_of(group);
  target.value = value;
  for (const TrainedOutputs& part : trained) {
    const std::int64_t rows = group.vector() ? 1 : part.count;
    const std::int64_t cols = group.vector() ? part.count : group.inputs;
    target.parts.push_back({part.first, flat_part(gradients_, part.gradient, rows, cols)});
    if (part.count == group.outputs()) {
      target.gradient = target.parts.back().gradient;
    }
  }
  std::int64_t first = 0;
  for (const model::ParameterGroup::Part& part : group.parts) {
    Parameter named{.value = named_part(value, group.vector(), first, part.outputs)};
    for (const Parameter::Part& piece : target.parts) {
      const std::int64_t end =
          piece.first + (group.vector() ? piece.gradient.cols : piece.gradient.rows);
      if (piece.first <= first && first < end) {
        named.gradient =
            named_part(piece.gradient, group.vector(), first - piece.first, part.outputs);
        named.parts = {{0, named.gradient}};
      }
    }
    named_.push_back({part.name, std::move(named), initial});
    first += part.outputs;
  }
}

void Parameters::bind_added(const AddedMatrix& matrix, const View& value, const View& gradient) {
  added_matrices_.push_back({value, gradient, {{0, gradient}}});
  std::int64_t first = 0;
  for (const AddedMatrix::Part& part : matrix.parts) {
    const View part_gradient = gradient.row_range(first, part.rows);
    added_.push_back({part.name,
                      {value.row_range(first, part.rows), part_gradient, {{0, part_gradient}}},
                      Initial::Zero});
    first += part.rows;
  }
}

const Parameters::Named& Parameters::find(std::string_view name) const {
  for (const std::vector<Named>* list : {&named_, &added_}) {
    const auto found = std::find_if(list->begin(), list->end(),
                                    [&](const Named& named) { return named.name == name; });
    if (found != list->end()) {
      return *found;
    }
  }
  throw Error(ErrorCode::NotFound, fmt::format("the model has no tensor '{}'", name));
}

std::int64_t AddedMatrix::rows() const {
  std::int64_t sum = 0;
  for (const Part& part : parts) {
    sum += part.rows;
  }
  return sum;
}

void Parameters::adapt(std::int64_t layer, Projection which, const Adapter* adapter) {
  blocks_[static_cast<std::size_t>(layer)].adapters[static_cast<std::size_t>(which)] = adapter;
}

}  // namespace tunebench::engine
