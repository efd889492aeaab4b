#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tunebench/campaign/plan.h"
#include "tunebench/campaign/request.h"
#include "tunebench/space/space.h"
#include "tunebench/store/store.h"

namespace tunebench::campaign {

/// What a run would do with one point.
struct PreviewPoint {
  std::string title;
  experiment::Point point;
  std::optional<std::size_t> excluded_by = {};  ///< a rule of Preview::rules; nothing else is set
  std::string invalid = {};
  std::int64_t wanted = 0;                        ///< measurements, at least
  std::int64_t reused = 0;                        ///< of them
  bool failed_before = false;                     ///< its only record is an invalid configuration
  std::optional<std::int64_t> needed_bytes = {};  ///< predicted
  std::int64_t may_use_bytes = 0;                 ///< 0: no bound
  std::optional<double> seconds = {};             ///< of what is still to measure, predicted
  std::optional<double> cost = {};

  [[nodiscard]] std::int64_t to_measure() const { return wanted - reused; }
  [[nodiscard]] bool fits() const {
    return !needed_bytes || may_use_bytes == 0 || *needed_bytes <= may_use_bytes;
  }
};

/// A rule and how many points it excludes.
struct PreviewRule {
  std::string text;
  std::string where;
  double excluded = 0;
};

/// What a run would do.
struct Preview {
  double size = 0;    ///< points, excluded ones included
  double kept = 0;    ///< those that all rules keep
  bool exact = true;  ///< false: kept and excluded are estimates
  std::vector<PreviewRule> rules = {};
  Repeats repeats = {};
  std::vector<PreviewPoint> points = {};  ///< those that were looked at
  std::int64_t looked_at = 0;             ///< kept ones among them
  bool all = true;                        ///< every kept point was looked at
  bool gave_up = false;                   ///< the rules excluded too many in a row
  std::string time_source = {};           ///< where the times come from, or why there are none
};

struct PreviewOptions {
  std::optional<std::int64_t> limit = {};  ///< kept points to look at; absent: all, but at most
                                           ///< 1,000 when there are more, and then 20
  std::optional<double> price = {};        ///< of an hour of one GPU, or of the machine
};

/// Writes nothing and starts nothing. `store` may be nullptr: nothing is known yet. Only points
/// that are looked at are checked; their mistakes are told.
Preview make_preview(const Request& request, const Machine& machine, const store::Store* store,
                     const PreviewOptions& options, Diagnostics& problems);

}  // namespace tunebench::campaign
