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

  explicit Head(Parameter weight, std::int64_t chunk_rows = kChunkRows)
      : weight_(weight), chunk_rows_(chunk_rows) {}

  /// hidden [tokens, D]. dhidden = gradient of the loss times gradient_scale, zero at rows that
  /// are not trained. Returns the sum of losses.
  double forward_backward(const Exec& exec, View hidden, const TrainedRows& trained,
                          double gradient_scale, View dhidden) const;

  /// logits [tokens, V], whole.
  void logits(const Exec& exec, View hidden, View logits) const;

 private:
  Parameter weight_;
  std::int64_t chunk_rows_;
};

}  // namespace tunebench::engine
