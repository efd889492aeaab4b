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

}  // namespace

/// Collects what there is, then lays it out in flat memory.
struct Parameters::Builder {
  /// Tensors of the checkpoint that follow each other in one parameter.
  struct Part {
    std::string name;
    std::int64_t outputs = 0;
  };
  struct Entry {
    Parameter* target = nullptr;
    std::int64_t outputs = 0;
    std::int64_t inputs = 0;  ///< 0: a vector of `outputs` elements
    Initial initial = Initial::Normal;
    std::vector<Part> parts;
    [[nodiscard]] bool vector() const { return inputs == 0; }
    [[nodiscard]] std::int64_t rows() const { return vector() ? 1 : outputs; }
    [[nodiscard]] std::int64_t cols() const { return vector() ? outputs : inputs; }
  };
  std::vector<Entry> entries;

  void add(Parameter& target, std::int64_t inputs, Initial initial, std::vector<Part> parts) {
    std::int64_t outputs = 0;
    for (const Part& part : parts) {
      outputs += part.outputs;
    }
    entries.push_back({&target, outputs, inputs, initial, std::move(parts)});
  }

  void add_norm(Parameter& target, std::string name, std::int64_t width) {
    add(target, 0, Initial::One, {{std::move(name), width}});
  }

  /// `stems` name projections of one input; each gets ".weight" and, if wanted, ".bias".
  void add_linear(Parameter& weight, Parameter& bias, bool with_bias, std::int64_t inputs,
                  const std::vector<Part>& stems) {
    const auto with_suffix = [&](const char* suffix) {
      std::vector<Part> parts = stems;
      for (Part& part : parts) {
        part.name += suffix;
      }
      return parts;
    };
    add(weight, inputs, Initial::Normal, with_suffix(".weight"));
    if (with_bias) {
      add(bias, 0, Initial::Zero, with_suffix(".bias"));
    }
  }

  void add_block(BlockParameters& block, const model::ModelSpec& spec, std::int64_t layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    const std::int64_t queries = spec.heads * spec.head_width;
    const std::int64_t keys = spec.kv_heads * spec.head_width;
    add_norm(block.input_norm, prefix + "input_layernorm.weight", spec.width);
    add_linear(block.qkv, block.qkv_bias, spec.qkv_bias, spec.width,
               {{prefix + "self_attn.q_proj", queries},
                {prefix + "self_attn.k_proj", keys},
                {prefix + "self_attn.v_proj", keys}});
    add_linear(block.output, block.output_bias, spec.output_bias, queries,
               {{prefix + "self_attn.o_proj", spec.width}});
    add_norm(block.middle_norm, prefix + "post_attention_layernorm.weight", spec.width);
    add_linear(block.gate_up, block.gate_up_bias, spec.mlp_bias, spec.width,
               {{prefix + "mlp.gate_proj", spec.feed_forward},
                {prefix + "mlp.up_proj", spec.feed_forward}});
    add_linear(block.down, block.down_bias, spec.mlp_bias, spec.feed_forward,
               {{prefix + "mlp.down_proj", spec.width}});
  }
};

Parameters::Parameters(const model::ModelSpec& spec, DType dtype, Arena& arena)
    : tied_(spec.tied_head), blocks_(static_cast<std::size_t>(spec.layers)) {
  Builder builder;
  builder.add(embedding_, spec.width, Initial::Normal,
              {{"model.embed_tokens.weight", spec.vocabulary}});
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    builder.add_block(blocks_[layer], spec, static_cast<std::int64_t>(layer));
  }
  builder.add_norm(final_norm_, "model.norm.weight", spec.width);
  if (!tied_) {
    builder.add(head_, spec.width, Initial::Normal, {{"lm_head.weight", spec.vocabulary}});
  }

  std::vector<std::int64_t> offsets(builder.entries.size());
  std::int64_t total = 0;
  for (const bool decays : {true, false}) {
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const Builder::Entry& entry = builder.entries[i];
      if ((entry.initial == Initial::Normal) == decays) {
        offsets[i] = total;
        const std::int64_t elements = entry.rows() * entry.cols();
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
    const Builder::Entry& entry = builder.entries[i];
    *entry.target = {flat_part(values_, offsets[i], entry.rows(), entry.cols()),
                     flat_part(gradients_, offsets[i], entry.rows(), entry.cols())};
    std::int64_t first = 0;
    for (const Builder::Part& part : entry.parts) {
      named_.push_back({part.name,
                        {named_part(entry.target->value, entry.vector(), first, part.outputs),
                         named_part(entry.target->gradient, entry.vector(), first, part.outputs)},
                        entry.initial});
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
