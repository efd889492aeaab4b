#pragma once

#include <cstdint>

#include "tunebench/engine/core/view.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {

/// What the optimizer works on: flat memory of equal size. Weight decay touches the first
/// `decayed_elements` of it.
struct TrainedMemory {
  View values;
  View gradients;
  View first_moments;
  View second_moments;
  std::int64_t decayed_elements = 0;
};

/// 2-norm of all gradients together.
double gradient_norm(Ops& ops, View gradients);

/// What gradients are multiplied with so that their norm does not exceed max_norm; 1 when
/// max_norm <= 0. Source: torch.nn.utils.clip_grad_norm_.
double clip_scale(double norm, double max_norm);

/// AdamW over flat memory, two passes: with weight decay and without.
class Adamw {
 public:
  explicit Adamw(double weight_decay) : weight_decay_(weight_decay) {}

  void update(Ops& ops, const TrainedMemory& memory, double learning_rate, double gradient_scale);

  /// Updates made so far; bias correction counts these.
  [[nodiscard]] std::int64_t updates() const { return updates_; }

 private:
  double weight_decay_;
  std::int64_t updates_ = 0;
};

}  // namespace tunebench::engine
