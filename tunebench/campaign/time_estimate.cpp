#include "tunebench/campaign/time_estimate.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/measure/window.h"
#include "tunebench/stats/summary.h"

namespace tunebench::campaign {
namespace {

/// Runs of the store that are looked at, newest first.
constexpr std::size_t kMostRuns = 20;
/// What a core does in training when nothing was measured: between a slow and a fast one.
constexpr double kGuessedFlopsPerCore = 15e9;
/// Share of the rate of matrix products that training reaches.
constexpr double kShareOfRoof = 0.5;
constexpr double kGuessedSetupS = 2.0;
/// Warm-up and window of the rules in docs/metrics.md.
constexpr std::int64_t kStepsOfAMeasurement = 25;
constexpr double kShortestWindowS = 6.0;

/// What the newest records say.
struct Known {
  std::vector<double> rates;   ///< FLOP/s of the same model
  std::vector<double> setups;  ///< seconds
  std::vector<double> walls;   ///< seconds of a whole measurement
  std::vector<double> roofs;   ///< FLOP/s of matrix products, any model
};

Known known_of(const Machine& machine, const store::Store& store, const std::string& model) {
  Known known;
  const std::vector<store::Run> runs = store.runs();
  for (std::size_t i = 0; i < std::min(runs.size(), kMostRuns); ++i) {
    for (const store::RunRecord& one : store.records_of(runs[i].name)) {
      const record::Record& record = one.record;
      if (one.reused || !record.is_valid() || record.trainer != machine.trainer) {
        continue;
      }
      if (const std::optional<double> roof = record.number("roof_gflops")) {
        known.roofs.push_back(*roof * 1e9);
      }
      const auto name = record.inputs.find("model_name");
      if (name == record.inputs.end() || name->second != Json(model)) {
        continue;
      }
      if (const std::optional<double> rate = record.number("gflops")) {
        known.rates.push_back(*rate * 1e9);
      }
      known.setups.push_back(record.number("setup_s").value_or(0));
      known.walls.push_back(record.number("wall_s").value_or(0));
    }
  }
  return known;
}

}  // namespace

TimeEstimate::TimeEstimate(const Machine& machine, const store::Store* store,
                           const std::string& model) {
  const Known known = store == nullptr ? Known{} : known_of(machine, *store, model);
  if (machine.trainer == "simulated") {
    if (!known.walls.empty()) {
      whole_s_ = stats::median(known.walls);
      source_ = fmt::format("from {} simulated measurements of {}", known.walls.size(), model);
    } else {
      source_ = "nothing is known of a simulated trainer";
    }
    return;
  }
  setup_s_ = known.setups.empty() ? kGuessedSetupS : stats::median(known.setups);
  if (!known.rates.empty()) {
    flops_per_s_ = stats::median(known.rates);
    source_ = fmt::format("from {} measurements of {}", known.rates.size(), model);
  } else if (!known.roofs.empty()) {
    flops_per_s_ = kShareOfRoof * stats::median(known.roofs);
    source_ = fmt::format("from the arithmetic and half the machine's rate of {} GFLOP/s",
                          shortest(std::round(stats::median(known.roofs) / 1e9)));
  } else {
    flops_per_s_ = kGuessedFlopsPerCore * machine.cores;
    source_ =
        fmt::format("a guess from the arithmetic at {} GFLOP/s a core, nothing was measured yet",
                    shortest(kGuessedFlopsPerCore / 1e9));
  }
}

std::optional<double> TimeEstimate::seconds(const PlannedPoint& planned) const {
  if (!planned.invalid.empty()) {
    return 0.0;
  }
  if (whole_s_ || flops_per_s_ <= 0) {
    return whole_s_;
  }
  const double step_s = planned.flops_per_step / flops_per_s_;
  const auto all = static_cast<double>(std::max<std::int64_t>(1, planned.planned_steps)) * step_s;
  double training_s = all;
  const double stop_s = planned.point.real("stop_after_seconds");
  if (stop_s > 0) {
    training_s = std::min(all, stop_s + step_s);
  } else if (!measure::bounds_own_length(planned.point)) {
    training_s = std::min(
        all, std::max(static_cast<double>(kStepsOfAMeasurement) * step_s, kShortestWindowS));
  }
  return setup_s_ + training_s;
}

}  // namespace tunebench::campaign
