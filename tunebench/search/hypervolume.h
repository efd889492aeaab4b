#pragma once

#include <vector>

namespace tunebench::search {

/// One row per point, one to three numbers each, less is better.
using LossRows = std::vector<std::vector<double>>;

/// Whether another row is nowhere worse and somewhere better. Equal rows do not dominate.
std::vector<bool> dominated_points(const LossRows& rows);

/// Volume between the rows and `reference` that some row dominates, exact. Rows that are not
/// better than the reference everywhere add nothing.
/// Source: Zitzler and Thiele 1998; computed slice by slice along the last objective.
double hypervolume(const LossRows& rows, const std::vector<double>& reference);

/// A box of losses; low may be minus infinity.
struct Box {
  std::vector<double> low;
  std::vector<double> high;
};

/// Disjoint boxes that together are everything below `reference` that no row dominates.
/// Source: Yang et al. 2019, "Efficient computation of expected hypervolume improvement using box
/// decomposition algorithms".
std::vector<Box> improvement_boxes(const LossRows& rows, const std::vector<double>& reference);

/// Mean of max(0, threshold - y) for a normal y. deviation >= 0.
/// Source: Mockus et al. 1978; Jones et al. 1998, "Efficient global optimization".
double expected_improvement(double mean, double deviation, double threshold);

/// Mean growth of the hypervolume by a point of independent normal losses: in each box the product
/// of the expected part of its sides. With one objective this is expected_improvement.
double expected_volume_gain(const std::vector<double>& means, const std::vector<double>& deviations,
                            const std::vector<Box>& boxes);

}  // namespace tunebench::search
