#include "tunebench/engine/nn/mlp.h"

namespace tunebench::engine {

Mlp::Saved Mlp::Saved::first_tokens(std::int64_t tokens) const {
  return {gate_up.row_range(0, tokens), activation.row_range(0, tokens)};
}

Mlp::Mlp(const Spec& spec, const BlockParameters& parameters)
    : spec_(spec),
      gate_up_(parameters.gate_up, parameters.gate_up_bias, parameters.adapter(Projection::GateUp)),
      down_(parameters.down, parameters.down_bias, parameters.adapter(Projection::Down)) {}

void Mlp::forward(const Exec& exec, View x, const Saved& saved, View y) const {
  refill(exec, x, saved);
  down_.forward(exec, saved.activation, y);
}

void Mlp::refill(const Exec& exec, View x, const Saved& saved) const {
  gate_up_.forward(exec, x, saved.gate_up);
  refill_activation(exec, saved);
}

void Mlp::refill_activation(const Exec& exec, const Saved& saved) const {
  if (spec_.gated) {
    exec.ops.gated(spec_.activation, saved.gate_up, saved.activation);
  } else {
    exec.ops.activate(spec_.activation, saved.gate_up, saved.activation);
  }
}

void Mlp::backward(const Exec& exec, View dy, View x, const Saved& saved, View dx) const {
  Scratch scratch(exec.arena);
  const View dactivation =
      scratch.take(saved.activation.rows, saved.activation.cols, saved.activation.dtype);
  down_.backward(exec, dy, saved.activation, dactivation);
  if (spec_.gated) {
    exec.ops.gated_backward(spec_.activation, saved.gate_up, dactivation, saved.gate_up);
  } else {
    exec.ops.activate_backward(spec_.activation, saved.gate_up, dactivation, saved.gate_up);
  }
  gate_up_.backward(exec, saved.gate_up, x, dx);
}

}  // namespace tunebench::engine
