#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tunebench/search/history.h"

namespace tunebench::search {

/// What is known of one point; repeats are put together.
struct Outcome {
  Point point = 0;
  std::vector<double> losses;  ///< means over valid measurements, signs so that less is better
  bool failed = true;          ///< no valid measurement; then losses are empty
};

/// Whether the observation has a finite number for each objective.
/// Errors: Internal when a valid one has fewer numbers than there are directions.
bool is_good(const Observation& observation, std::span<const Direction> directions);

/// One per point, in the order of their first observations.
std::vector<Outcome> outcomes_of(std::span<const Observation> history,
                                 std::span<const Direction> directions);

/// Indices from best to worst: failed ones last; with several objectives by fronts of mutual
/// non-dominance, and within a front by what each adds to the hypervolume, largest first.
/// `reference` in losses. Equal ones keep their order.
/// Source: Ozaki et al. 2020, "Multiobjective tree-structured Parzen estimator".
std::vector<std::size_t> best_first(std::span<const Outcome> outcomes,
                                    const std::vector<double>& reference);

/// `configured` in the objectives' units, as losses; or, when empty, the worst observed losses and
/// a tenth of their range.
std::vector<double> reference_losses(std::span<const Outcome> outcomes,
                                     std::span<const Direction> directions,
                                     std::span<const double> configured);

}  // namespace tunebench::search
