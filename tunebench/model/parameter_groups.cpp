#include "tunebench/model/parameter_groups.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tunebench/model/model_family.h"

namespace tunebench::model {
namespace {

using Part = ParameterGroup::Part;

/// A weight and the bias that goes with it.
struct Roles {
  ParameterRole weight;
  ParameterRole bias;
};

class GroupList {
 public:
  explicit GroupList(const ModelSpec& spec) : spec_(spec), names_(family_of(spec).names) {}

  void add_model() {
    add(ParameterRole::Embedding, spec_.width, {{whole(names_.embedding), spec_.vocabulary}});
    if (spec_.positions == PositionKind::Learned) {
      add(ParameterRole::Positions, spec_.width, {{whole(names_.positions), spec_.max_positions}});
    }
    if (spec_.embedding_norm) {
      add_norm({ParameterRole::EmbeddingNorm, ParameterRole::EmbeddingNormBias},
               names_.embedding_norm);
    }
    for (layer_ = 0; layer_ < spec_.layers; ++layer_) {
      add_block();
    }
    layer_ = -1;
    add_norm({ParameterRole::FinalNorm, ParameterRole::FinalNormBias}, names_.final_norm);
    if (!spec_.tied_head) {
      add(ParameterRole::Head, spec_.width, {{whole(names_.head), spec_.vocabulary}});
    }
  }

  std::vector<ParameterGroup> take() { return std::move(groups_); }

 private:
  void add_block() {
    const std::int64_t queries = spec_.query_width();
    const std::int64_t keys = spec_.key_width();
    const std::int64_t inner = spec_.dense_feed_forward();
    add_linear({ParameterRole::Qkv, ParameterRole::QkvBias}, spec_.qkv_bias, spec_.width,
               parts_of(names_.qkv, {queries, keys, keys}));
    add_linear({ParameterRole::Output, ParameterRole::OutputBias}, spec_.output_bias, queries,
               {{in_block(names_.output), spec_.width}});
    if (spec_.experts.count > 0) {
      add_experts();
    }
    if (inner > 0) {
      add_linear({ParameterRole::GateUp, ParameterRole::GateUpBias}, spec_.mlp_bias, spec_.width,
                 spec_.gated_mlp ? parts_of(names_.gate_up, {inner, inner})
                                 : std::vector<Part>{{in_block(names_.gate_up[0]), inner}});
      add_linear({ParameterRole::Down, ParameterRole::DownBias}, spec_.mlp_bias, inner,
                 {{in_block(names_.down), spec_.width}});
    }
    add_norm({ParameterRole::InputNorm, ParameterRole::InputNormBias}, names_.input_norm);
    if (spec_.qk_norm) {
      const bool all = spec_.whole_qk_norm;
      add(ParameterRole::QueryNorm, 0,
          {{whole(in_block(names_.query_norm)), all ? queries : spec_.head_width}});
      add(ParameterRole::KeyNorm, 0,
          {{whole(in_block(names_.key_norm)), all ? keys : spec_.head_width}});
    }
    if (spec_.post_norms) {
      add(ParameterRole::PostAttentionNorm, 0,
          {{whole(in_block(names_.post_attention_norm)), spec_.width}});
    }
    add_norm({ParameterRole::MiddleNorm, ParameterRole::MiddleNormBias}, names_.middle_norm);
    if (spec_.post_norms) {
      add(ParameterRole::PostMlpNorm, 0, {{whole(in_block(names_.post_mlp_norm)), spec_.width}});
    }
  }

  void add_experts() {
    const std::int64_t inner = spec_.feed_forward;
    const auto [gate, up] = names_.expert_gate_up;
    add(ParameterRole::Router, spec_.width,
        {{whole(in_block(names_.router)), spec_.experts.count}});
    add(ParameterRole::ExpertsGateUp, spec_.width,
        up.empty() ? expert_parts({{gate, 2 * inner}})
                   : expert_parts({{gate, inner}, {up, inner}}));
    add(ParameterRole::ExpertsDown, inner, expert_parts({{names_.expert_down, spec_.width}}));
    if (spec_.experts.shared_gate) {
      add(ParameterRole::SharedGate, spec_.width, {{whole(in_block(names_.shared_gate)), 1}});
    }
  }

  /// The tensors of all experts: one after the other, or each kind stacked in one.
  [[nodiscard]] std::vector<Part> expert_parts(
      std::initializer_list<std::pair<std::string_view, std::int64_t>> of_one) const {
    const std::int64_t count = spec_.experts.count;
    std::vector<Part> parts;
    if (names_.experts.empty()) {
      for (const auto& [name, outputs] : of_one) {
        parts.push_back({whole(in_block(name)), count * outputs, count});
      }
      return parts;
    }
    const std::string stem = in_block(names_.experts);
    for (std::int64_t expert = 0; expert < count; ++expert) {
      for (const auto& [name, outputs] : of_one) {
        parts.push_back({fmt::format("{}.{}.{}.weight", stem, expert, name), outputs});
      }
    }
    return parts;
  }

  void add(ParameterRole role, std::int64_t inputs, std::vector<Part> parts) {
    groups_.push_back({role, layer_, inputs, std::move(parts)});
  }

  void add_norm(Roles roles, std::string_view name) {
    const std::string stem = layer_ < 0 ? std::string(name) : in_block(name);
    add(roles.weight, 0, {{whole(stem), spec_.width}});
    if (spec_.norm == NormKind::Layer) {
      add(roles.bias, 0, {{stem + ".bias", spec_.width}});
    }
  }

  /// `stems` name projections of one input; each gets ".weight" and, if wanted, ".bias".
  void add_linear(Roles roles, bool with_bias, std::int64_t inputs, std::vector<Part> stems) {
    std::vector<Part> biases = stems;
    for (Part& part : stems) {
      part.name = whole(part.name);
    }
    add(roles.weight, inputs, std::move(stems));
    if (with_bias) {
      for (Part& part : biases) {
        part.name += ".bias";
      }
      add(roles.bias, 0, std::move(biases));
    }
  }

  /// One part for each name, or one of all sizes when only the first has a name.
  template <std::size_t N>
  std::vector<Part> parts_of(const std::array<std::string_view, N>& names,
                             const std::array<std::int64_t, N>& sizes) const {
    std::vector<Part> parts;
    for (std::size_t i = 0; i < N; ++i) {
      if (names[i].empty()) {
        parts.front().outputs += sizes[i];
      } else {
        parts.push_back({in_block(names[i]), sizes[i]});
      }
    }
    return parts;
  }

  [[nodiscard]] std::string in_block(std::string_view name) const {
    return fmt::format("{}.{}.{}", names_.blocks, layer_, name);
  }
  static std::string whole(std::string_view stem) { return std::string(stem) + ".weight"; }

  const ModelSpec& spec_;
  const TensorNames& names_;
  std::int64_t layer_ = -1;
  std::vector<ParameterGroup> groups_;
};

}  // namespace

bool ParameterGroup::bias() const {
  return vector() && parts.front().name.ends_with(".bias");
}

std::int64_t ParameterGroup::outputs() const {
  std::int64_t sum = 0;
  for (const Part& part : parts) {
    sum += part.outputs;
  }
  return sum;
}

std::vector<ParameterGroup> parameter_groups(const ModelSpec& spec) {
  GroupList list(spec);
  list.add_model();
  return list.take();
}

}  // namespace tunebench::model
