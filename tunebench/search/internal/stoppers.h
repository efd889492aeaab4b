#pragma once

#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "tunebench/search/internal/stopper_parameters.h"
#include "tunebench/search/stopper.h"

namespace tunebench::search {

/// One kind of stopper: its parameters in ado's order, and how it is made of good ones.
struct StopperKind {
  std::string_view name;
  std::vector<ParameterRule> rules;
  std::unique_ptr<Stopper> (*make)(const Parameters& parameters, const StopContext& context);
};

std::vector<StopperKind> limit_stoppers();        ///< count, time, cost, MaxSamplesStopper
std::vector<StopperKind> convergence_stoppers();  ///< no_improvement, narrow_interval
/// SimpleStopper, GrowthStopper, RepeatedSampleStopper, BayesianMetricDifferenceStopper
std::vector<StopperKind> ado_stoppers();
std::vector<StopperKind> information_gain_stoppers();

/// Of a valid trial; NaN for a failed one or when it has no such number.
inline double metric_of(const Observation& trial, std::size_t metric) {
  return trial.valid && metric < trial.objectives.size() ? trial.objectives[metric]
                                                         : std::numeric_limits<double>::quiet_NaN();
}

inline bool is_better(double value, double than, Direction direction) {
  return direction == Direction::Minimize ? value < than : value > than;
}

}  // namespace tunebench::search
