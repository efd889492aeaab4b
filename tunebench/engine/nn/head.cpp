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

double Head::forward_backward(const Exec& exec, View hidden, const TrainedRows& trained,
                              double gradient_scale, View dhidden) const {
  if (trained.count == 0 && !exec.accumulate) {
    exec.ops.fill(weight_.gradient, 0.0);
  }
  // Chunks of nearly equal size, so that none is a short rest.
  const std::int64_t chunks =
      std::max<std::int64_t>(1, (trained.count + chunk_rows_ - 1) / chunk_rows_);
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
    exec.ops.gather_rows(hidden, part(trained.rows, first, count), x);
    exec.ops.gemm(false, true, x, weight_.value, y, false);
    loss += exec.ops.cross_entropy(y, part(trained.labels, first, count), gradient_scale);
    exec.ops.gemm(true, false, y, x, weight_.gradient, exec.accumulate || first > 0);
    exec.ops.gemm(false, false, y, weight_.value, dinputs.row_range(first, count), false);
  }
  exec.ops.scatter_rows(dinputs, trained.rows, dhidden);
  return loss;
}

void Head::logits(const Exec& exec, View hidden, View logits) const {
  exec.ops.gemm(false, true, hidden, weight_.value, logits, false);
}

}  // namespace tunebench::engine
