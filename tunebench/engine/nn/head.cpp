#include "tunebench/engine/nn/head.h"

#include <algorithm>

namespace tunebench::engine {
namespace {

std::span<const std::int32_t> part(std::span<const std::int32_t> all, std::int64_t first,
                                   std::int64_t count) {
  return all.empty()
             ? all
             : all.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

}  // namespace

/// Overwrites logits with their gradient.
double Head::loss_and_gradient(const Exec& exec, View logits, std::span<const std::int32_t> labels,
                               double gradient_scale) const {
  if (spec_.cap == 0.0) {
    return exec.ops.cross_entropy(logits, labels, gradient_scale);
  }
  Scratch scratch(exec.arena);
  const View capped = scratch.take(logits.rows, logits.cols, logits.dtype);
  exec.ops.soft_cap(spec_.cap, logits, capped);
  exec.ops.copy(capped, logits);
  const double loss = exec.ops.cross_entropy(logits, labels, gradient_scale);
  exec.ops.soft_cap_backward(spec_.cap, capped, logits, logits);
  return loss;
}

double Head::forward_backward(const Exec& exec, View hidden, const TrainedRows& trained,
                              double gradient_scale, View dhidden) const {
  if (weight_.trained() && trained.count == 0 && !exec.accumulate) {
    exec.ops.fill(weight_.gradient, 0.0);
  }
  // Chunks of nearly equal size, so that none is a short rest.
  const std::int64_t chunks =
      std::max<std::int64_t>(1, (trained.count + spec_.chunk_rows - 1) / spec_.chunk_rows);
  const std::int64_t rows_at_once = (trained.count + chunks - 1) / chunks;

  Scratch scratch(exec.arena);
  const View inputs = scratch.take(rows_at_once, hidden.cols, hidden.dtype);
  const View logits = scratch.take(rows_at_once, weight_.value.rows, hidden.dtype);
  const View dinputs = scratch.take(trained.count, hidden.cols, hidden.dtype);
  double loss = 0;
  for (std::int64_t first = 0; first < trained.count; first += rows_at_once) {
    const std::int64_t count = std::min(rows_at_once, trained.count - first);
    const View x = inputs.row_range(0, count);
    const View y = logits.row_range(0, count);
    const View dx = dinputs.row_range(first, count);
    exec.ops.gather_rows(hidden, part(trained.rows, first, count), x);
    // The divisor is taken off the narrow side of the product.
    if (spec_.divisor != 1.0) {
      exec.ops.scale(1.0 / spec_.divisor, x, x);
    }
    exec.ops.gemm(false, true, x, weight_.value, y, false);
    loss += loss_and_gradient(exec, y, part(trained.labels, first, count), gradient_scale);
    if (weight_.trained()) {
      exec.ops.gemm(true, false, y, x, weight_.gradient, exec.accumulate || first > 0);
    }
    exec.ops.gemm(false, false, y, weight_.value, dx, false);
    if (spec_.divisor != 1.0) {
      exec.ops.scale(1.0 / spec_.divisor, dx, dx);
    }
  }
  exec.ops.scatter_rows(dinputs, trained.rows, dhidden);
  return loss;
}

void Head::logits(const Exec& exec, View hidden, View logits) const {
  exec.ops.gemm(false, true, hidden, weight_.value, logits, false);
  if (spec_.divisor != 1.0) {
    exec.ops.scale(1.0 / spec_.divisor, logits, logits);
  }
  if (spec_.cap != 0.0) {
    exec.ops.soft_cap(spec_.cap, logits, logits);
  }
}

}  // namespace tunebench::engine
