#include "tunebench/engine/optim/adamw.h"

#include <algorithm>
#include <cmath>

namespace tunebench::engine {

double gradient_norm(Ops& ops, View gradients) {
  return std::sqrt(ops.sum_squares(gradients));
}

double clip_scale(double norm, double max_norm) {
  // The small number is PyTorch's, so that clipped updates are the same as there.
  constexpr double kGuard = 1e-6;
  return max_norm > 0 ? std::min(1.0, max_norm / (norm + kGuard)) : 1.0;
}

void Adamw::update(Ops& ops, const TrainedMemory& memory, double learning_rate,
                   double gradient_scale) {
  AdamwStep step{.learning_rate = learning_rate,
                 .weight_decay = weight_decay_,
                 .step = ++updates_,
                 .gradient_scale = gradient_scale};
  const auto pass = [&](std::int64_t first, std::int64_t count) {
    if (count > 0) {
      ops.adamw(memory.values.col_range(first, count), memory.gradients.col_range(first, count),
                memory.first_moments.col_range(first, count),
                memory.second_moments.col_range(first, count), step);
    }
  };
  const std::int64_t rest = memory.values.cols - memory.decayed_elements;
  pass(0, memory.decayed_elements);
  step.weight_decay = 0;
  pass(memory.decayed_elements, rest);
}

}  // namespace tunebench::engine
