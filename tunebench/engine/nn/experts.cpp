#include "tunebench/engine/nn/experts.h"

#include <span>

#include "tunebench/base/error.h"

namespace tunebench::engine {
namespace {

std::span<const std::int32_t> tokens_of(const Visits& visits) {
  return {static_cast<const std::int32_t*>(visits.tokens.data),
          static_cast<std::size_t>(visits.count())};
}

}  // namespace

Experts::Saved Experts::Saved::first_tokens(std::int64_t tokens) const {
  const std::int64_t count = tokens * visits.experts.cols;
  return {.probabilities = probabilities.first_rows(tokens),
          .weights = weights.first_cols(count),
          .visits = {.experts = visits.experts.first_rows(tokens),
                     .places = visits.places.first_rows(tokens),
                     .tokens = visits.tokens.first_cols(count),
                     .begins = visits.begins},
          .gate_up = gate_up.first_rows(count),
          .activation = activation.first_rows(count)};
}

Experts::Experts(const Spec& spec, const BlockParameters& parameters)
    : spec_(spec),
      router_(parameters.router),
      gate_up_(parameters.experts_gate_up),
      down_(parameters.experts_down) {
  // Experts are trained all or none.
  TB_CHECK(gate_up_.parts.empty() || gate_up_.trained());
  TB_CHECK(down_.parts.empty() || down_.trained());
}

void Experts::fill(const Exec& exec, View x, const Saved& saved, View visitors) const {
  exec.ops.gemm(false, true, x, router_.value, saved.probabilities, false);
  exec.ops.choose_experts(saved.probabilities, spec_.renormalise, saved.weights, saved.visits);
  exec.ops.gather_rows(x, tokens_of(saved.visits), visitors);
  exec.ops.expert_products(true, visitors, gate_up_.value, saved.visits, saved.gate_up);
  refill_activation(exec, saved);
}

void Experts::forward(const Exec& exec, View x, const Saved& saved, View y, bool add) const {
  Scratch scratch(exec.arena);
  const View rows = scratch.take(saved.visits.count(), x.cols, x.dtype);
  fill(exec, x, saved, rows);
  exec.ops.expert_products(true, saved.activation, down_.value, saved.visits, rows);
  exec.ops.sum_visits(rows, saved.visits, y, add);
}

void Experts::refill(const Exec& exec, View x, const Saved& saved) const {
  Scratch scratch(exec.arena);
  fill(exec, x, saved, scratch.take(saved.visits.count(), x.cols, x.dtype));
}

void Experts::refill_activation(const Exec& exec, const Saved& saved) const {
  exec.ops.weighted_gated(spec_.activation, saved.gate_up, saved.weights, saved.activation);
}

void Experts::backward(const Exec& exec, View dy, View x, const Saved& saved,
                       const RouterPull& pull, View dx, bool add) const {
  Ops& ops = exec.ops;
  const Visits& visits = saved.visits;
  Scratch scratch(exec.arena);
  const View rows = scratch.take(visits.count(), x.cols, x.dtype);
  const View dactivation = scratch.take(visits.count(), spec_.feed_forward, x.dtype);
  const View dweights = scratch.take(1, visits.count(), x.dtype);
  const View dlogits = scratch.take(x.rows, spec_.count, x.dtype);

  ops.gather_rows(dy, tokens_of(visits), rows);
  if (down_.trained()) {
    ops.expert_weight_gradients(rows, saved.activation, visits, down_.gradient, exec.accumulate);
  }
  ops.expert_products(false, rows, down_.value, visits, dactivation);
  ops.weighted_gated_backward(spec_.activation, saved.gate_up, saved.weights, dactivation,
                              saved.gate_up, dweights);
  if (gate_up_.trained()) {
    ops.gather_rows(x, tokens_of(visits), rows);
    ops.expert_weight_gradients(saved.gate_up, rows, visits, gate_up_.gradient, exec.accumulate);
  }
  ops.expert_products(false, saved.gate_up, gate_up_.value, visits, rows);
  ops.sum_visits(rows, visits, dx, add);

  ops.choose_experts_backward(dweights, saved.probabilities, visits, spec_.renormalise, pull,
                              dlogits);
  if (router_.trained()) {
    ops.gemm(true, false, dlogits, x, router_.gradient, exec.accumulate);
  }
  ops.gemm(false, false, dlogits, router_.value, dx, true);
}

}  // namespace tunebench::engine
