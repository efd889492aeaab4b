#include "tunebench/model/model_spec.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tunebench/model/parameter_groups.h"

namespace tunebench::model {
namespace {

/// How many positions a token sees on average in a sequence of `length`, itself included.
double positions_seen(std::int64_t length, std::int64_t window) {
  const double whole = static_cast<double>(length);
  if (window == 0 || window >= length) {
    // Position t looks at t + 1 positions, so a token of the sequence at (length + 1) / 2 of them.
    return (whole + 1.0) / 2.0;
  }
  const double seen = static_cast<double>(window);
  return (seen * (seen + 1.0) / 2.0 + (whole - seen) * seen) / whole;
}

std::vector<std::int64_t> part_shape(const ParameterGroup& group,
                                     const ParameterGroup::Part& part) {
  if (group.vector()) {
    return {part.outputs};
  }
  return part.stacked > 0 ? std::vector{part.stacked, part.outputs / part.stacked, group.inputs}
                          : std::vector{part.outputs, group.inputs};
}

/// Weights of the feed-forward that a token meets in one layer.
double feed_forward_weights(const ModelSpec& spec) {
  const double matrices = spec.gated_mlp ? 3.0 : 2.0;
  const ExpertsSpec& experts = spec.experts;
  const std::int64_t widths = spec.dense_feed_forward() + experts.chosen * spec.feed_forward;
  return static_cast<double>(spec.width) *
         (matrices * static_cast<double>(widths) +
          static_cast<double>(experts.count + (experts.shared_gate ? 1 : 0)));
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
  std::vector<TensorShape> shapes;
  for (ParameterGroup& group : parameter_groups(spec)) {
    for (ParameterGroup::Part& part : group.parts) {
      shapes.push_back({std::move(part.name), part_shape(group, part)});
    }
  }
  return shapes;
}

std::int64_t parameter_count(const ModelSpec& spec) {
  std::int64_t total = 0;
  for (const TensorShape& tensor : tensor_shapes(spec)) {
    total += tensor.elements();
  }
  return total;
}

std::int64_t active_parameter_count(const ModelSpec& spec) {
  const std::int64_t idle = spec.experts.count - spec.experts.chosen;
  return parameter_count(spec) - spec.layers * idle * 3 * spec.width * spec.feed_forward;
}

TrainingFlops training_flops_per_token(const ModelSpec& spec, std::int64_t length) {
  const double layers = static_cast<double>(spec.layers);
  const double width = static_cast<double>(spec.width);
  const double q = static_cast<double>(spec.query_width());
  const double kv = static_cast<double>(spec.key_width());
  double seen = 0;
  for (std::int64_t layer = 0; layer < spec.layers; ++layer) {
    seen += positions_seen(length, spec.local(layer) ? spec.window : 0);
  }
  return {
      .projections = 2.0 * layers * width * (2.0 * q + 2.0 * kv),
      .mlp = 2.0 * layers * feed_forward_weights(spec),
      .head = 2.0 * width * static_cast<double>(spec.vocabulary),
      .attention = 2.0 * 2.0 * q * seen,
  };
}

std::int64_t longest_sequence(const ModelSpec& spec) {
  const RopeScaling& scaling = spec.rope_scaling;
  const auto stretched = [&](std::int64_t trained) {
    return static_cast<std::int64_t>(static_cast<double>(trained) * scaling.factor);
  };
  switch (scaling.type) {
    case RopeScaling::Type::Dynamic:
      return std::max(spec.max_positions, stretched(spec.max_positions));
    case RopeScaling::Type::Yarn:
      return std::max(spec.max_positions, stretched(scaling.original_max_positions));
    default:
      return spec.max_positions;
  }
}

std::int64_t state_bytes_full_fine_tuning(const ModelSpec& spec) {
  constexpr std::int64_t kCopies = 4;  // weight, gradient, two moments
  return parameter_count(spec) * kCopies * static_cast<std::int64_t>(sizeof(float));
}

}  // namespace tunebench::model
