#include "tunebench/engine/nn/mlp.h"

#include "tunebench/base/error.h"

namespace tunebench::engine {
namespace {

/// A row as a column.
View upright(const View& row) {
  return {row.data, row.dtype, row.cols, 1, 1};
}

}  // namespace

Mlp::Saved Mlp::Saved::first_tokens(std::int64_t tokens) const {
  return {gate_up.first_rows(tokens), activation.first_rows(tokens), weights.first_cols(tokens)};
}

Mlp::Mlp(const Spec& spec, const BlockParameters& parameters)
    : spec_(spec),
      gate_up_(parameters.gate_up, parameters.gate_up_bias, parameters.adapter(Projection::GateUp)),
      down_(parameters.down, parameters.down_bias, parameters.adapter(Projection::Down)),
      weigher_(parameters.shared_gate) {
  TB_CHECK(!spec.weighed || spec.gated);
}

void Mlp::forward(const Exec& exec, View x, const Saved& saved, View y) const {
  refill(exec, x, saved);
  down_.forward(exec, saved.activation, y);
}

void Mlp::refill(const Exec& exec, View x, const Saved& saved) const {
  gate_up_.forward(exec, x, saved.gate_up);
  if (spec_.weighed) {
    weigh(exec, x, saved);
  }
  refill_activation(exec, saved);
}

void Mlp::refill_activation(const Exec& exec, const Saved& saved) const {
  if (spec_.weighed) {
    exec.ops.weighted_gated(spec_.activation, saved.gate_up, saved.weights, saved.activation);
  } else if (spec_.gated) {
    exec.ops.gated(spec_.activation, saved.gate_up, saved.activation);
  } else {
    exec.ops.activate(spec_.activation, saved.gate_up, saved.activation);
  }
}

void Mlp::weigh(const Exec& exec, View x, const Saved& saved) const {
  exec.ops.gemm(false, true, x, weigher_.value, upright(saved.weights), false);
  exec.ops.sigmoid(saved.weights, saved.weights);
}

void Mlp::weigh_backward(const Exec& exec, View dweights, View x, const Saved& saved,
                         View dx) const {
  exec.ops.sigmoid_backward(saved.weights, dweights, dweights);
  if (weigher_.trained()) {
    exec.ops.gemm(true, false, upright(dweights), x, weigher_.gradient, exec.accumulate);
  }
  exec.ops.gemm(false, false, upright(dweights), weigher_.value, dx, true);
}

/// saved.gate_up becomes its gradient.
void Mlp::activation_backward(const Exec& exec, View dactivation, View dweights,
                              const Saved& saved) const {
  if (spec_.weighed) {
    exec.ops.weighted_gated_backward(spec_.activation, saved.gate_up, saved.weights, dactivation,
                                     saved.gate_up, dweights);
  } else if (spec_.gated) {
    exec.ops.gated_backward(spec_.activation, saved.gate_up, dactivation, saved.gate_up);
  } else {
    exec.ops.activate_backward(spec_.activation, saved.gate_up, dactivation, saved.gate_up);
  }
}

void Mlp::backward(const Exec& exec, View dy, View x, const Saved& saved, View dx) const {
  Scratch scratch(exec.arena);
  const View dactivation =
      scratch.take(saved.activation.rows, saved.activation.cols, saved.activation.dtype);
  const View dweights = spec_.weighed ? scratch.take(1, dy.rows, dy.dtype) : View{};
  down_.backward(exec, dy, saved.activation, dactivation);
  activation_backward(exec, dactivation, dweights, saved);
  gate_up_.backward(exec, saved.gate_up, x, dx);
  if (spec_.weighed) {
    weigh_backward(exec, dweights, x, saved, dx);
  }
}

}  // namespace tunebench::engine
