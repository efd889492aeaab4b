#pragma once

#include <cstdint>
#include <span>

#include "tunebench/engine/core/trained_memory.h"
#include "tunebench/engine/core/view.h"
#include "tunebench/engine/ops/ops.h"

namespace tunebench::engine {

/// 2-norm of all gradients together.
double gradient_norm(Ops& ops, View gradients);

/// What gradients are multiplied with so that their norm does not exceed max_norm; 1 when
/// max_norm <= 0. Source: torch.nn.utils.clip_grad_norm_.
double clip_scale(double norm, double max_norm);

/// AdamW over flat memory, one pass for each piece of it.
class Adamw {
 public:
  explicit Adamw(double weight_decay) : weight_decay_(weight_decay) {}

  void update(Ops& ops, std::span<const TrainedMemory> memory, double learning_rate,
              double gradient_scale);

  /// Updates made so far; bias correction counts these.
  [[nodiscard]] std::int64_t updates() const { return updates_; }

 private:
  double weight_decay_;
  std::int64_t updates_ = 0;
};

}  // namespace tunebench::engine
