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

void Adamw::update(Ops& ops, std::span<const TrainedMemory> memory, double learning_rate,
                   double gradient_scale) {
  AdamwStep step{
      .learning_rate = learning_rate, .step = ++updates_, .gradient_scale = gradient_scale};
  for (const TrainedMemory& part : memory) {
    step.weight_decay = part.decays ? weight_decay_ : 0.0;
    ops.adamw(part.values, part.gradients, part.first_moments, part.second_moments, step);
  }
}

}  // namespace tunebench::engine
