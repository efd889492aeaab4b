#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "tunebench/analyze/pareto.h"

namespace tunebench::analyze {

/// The best of some points, and how far the next is.
struct Best {
  std::size_t best = 0;                ///< index
  std::optional<std::size_t> next;     ///< absent when there is one point only
  std::optional<double> next_change;   ///< (next - best) / best; absent when best is 0
  std::vector<std::size_t> tied = {};  ///< what cannot be told from the best, in order of value
};

/// A point is tied with the best when it is within `practical` (a share of the best) of it, or
/// their 95 % intervals overlap. nullopt for no points. Equal values keep their order.
std::optional<Best> best_of(std::span<const Figure> points, bool maximise, double practical = 0.01);

}  // namespace tunebench::analyze
