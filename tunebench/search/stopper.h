#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/json.h"
#include "tunebench/search/history.h"

namespace tunebench::search {

/// What one stopper thinks of the history.
struct StopReport {
  std::string name;  ///< of the stopper
  bool stop = false;
  std::string text;  ///< one phrase: why, or how far it is
  Json numbers;      ///< an object: what the decision rests on
};
/// {"name", "stop", "text", "numbers"}, as it is stored.
Json to_json(const StopReport& report);

/// Says when a search is over. As with a Searcher, the answer depends on the history alone, so a
/// resumed search stops where an uninterrupted one does. Every observation is one trial.
/// Threads: any.
class Stopper {
 public:
  virtual ~Stopper() = default;
  [[nodiscard]] virtual StopReport report(std::span<const Observation> history) const = 0;
};

/// What the names in a stopper's parameters mean.
struct StopContext {
  const FiniteSpace* space = nullptr;      ///< must outlive the stoppers
  std::vector<std::string> metrics = {};   ///< names of Observation::objectives, in order
  std::vector<Direction> directions = {};  ///< of the first ones, which the search improves
};

/// One stopper by name with its parameters by position and by name, as ado writes them.
struct StopConfig {
  std::string name;
  Json::Array positional = {};
  Json keywords = Json::object();
};

/// All names that make_stopper takes: count, time, cost, no_improvement, narrow_interval, and ado's
/// SimpleStopper, GrowthStopper, MaxSamplesStopper, InformationGainStopper, RepeatedSampleStopper,
/// BayesianMetricDifferenceStopper. docs/search.md lists the parameters.
std::vector<std::string> stopper_names();

/// nullptr when something is wrong; what, is added to `problems`: an unknown stopper, parameter or
/// metric with the nearest name, a missing or doubled parameter, a value of the wrong kind or size.
std::unique_ptr<Stopper> make_stopper(const StopConfig& config, const StopContext& context,
                                      Diagnostics& problems);

/// Reports of all of them, in their order. The search is over when one says stop.
std::vector<StopReport> stop_reports(std::span<const std::unique_ptr<Stopper>> stoppers,
                                     std::span<const Observation> history);

}  // namespace tunebench::search
