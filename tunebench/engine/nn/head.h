#pragma once

#include <cstdint>
#include <span>

#include "tunebench/engine/core/view.h"
#include "tunebench/engine/nn/layers.h"
#include "tunebench/engine/nn/parameters.h"

namespace tunebench::engine {

/// The positions of a batch that are trained, in order, and what each has to predict. A dry run
/// has a count only.
struct TrainedRows {
  std::int64_t count = 0;
  std::span<const std::int32_t> rows;
  std::span<const std::int32_t> labels;
};

/// Language-model head and loss. Logits exist for `chunk_rows` rows at once: loss, gradient of the
/// input and of the weight come from the same pass, so a batch of any length needs little memory.
class Head {
 public:
  /// Matrix products of fewer than 128 rows are slow, so chunks hold 128 to 256 rows (all rows
  /// when there are fewer).
  static constexpr std::int64_t kChunkRows = 256;

  struct Spec {
    std::int64_t chunk_rows = kChunkRows;
    double divisor = 1.0;  ///< logits are divided by it
    double cap = 0.0;      ///< c: logits become c tanh(logit / c); 0: they stay
  };

  Head(const Parameter& weight, const Spec& spec) : weight_(weight), spec_(spec) {}

  /// hidden [tokens, D]. dhidden = gradient of the loss times gradient_scale, zero at rows that
  /// are not trained. Returns the sum of losses.
  double forward_backward(const Exec& exec, View hidden, const TrainedRows& trained,
                          double gradient_scale, View dhidden) const;

  /// logits [tokens, V], whole.
  void logits(const Exec& exec, View hidden, View logits) const;

 private:
  double loss_and_gradient(const Exec& exec, View logits, std::span<const std::int32_t> labels,
                           double gradient_scale) const;

  Parameter weight_;
  Spec spec_;
};

}  // namespace tunebench::engine
