#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/campaign/plan.h"
#include "tunebench/record/record.h"
#include "tunebench/store/store.h"

namespace tunebench::campaign {

/// "driver 550 -> 570, cuda 12 -> 13": how the conditions of two measurements differ, in the order
/// of record::condition_names(). "none" stands for one that only the other has; empty: nothing
/// differs, or nothing is known of one of them.
std::string condition_differences(const Json& before, const Json& now);

/// Results that a run could have reused but for their conditions or their age.
class StaleResults {
 public:
  /// Takes out of `records` - those of the point's key, oldest first - what is older than
  /// Plan::max_age_s and, at the first look at a point, adds what Plan::accept_stale allows, newest
  /// first. `now`: seconds since 1970.
  void sort_out(const PlannedPoint& point, const Plan& plan, const store::Store& store,
                std::int64_t now, std::vector<record::Record>& records);

  std::int64_t of_points = 0;                            ///< of the plan
  std::int64_t points = 0;                               ///< with results under other conditions
  std::map<std::string, std::int64_t> differences = {};  ///< in what they differ, by points
  std::int64_t too_old = 0;                              ///< points with results beyond the age

  /// What a user is told, a sentence a line; empty: nothing.
  [[nodiscard]] std::string text(const Plan& plan) const;
  [[nodiscard]] bool any() const { return points > 0 || too_old > 0; }

 private:
  std::set<std::string> looked_at_;  ///< keys
};

/// Valid results that a run of today would measure again, and why.
struct StaleGroup {
  std::string difference;  ///< "driver 550 -> 570"
  std::int64_t measurements = 0;
  std::set<std::string> points;  ///< point_key of each
  std::set<std::string> runs;    ///< that made them
  std::string newest;            ///< ISO time
};
/// The conditions of today for a trainer, its version in the record and a number of GPUs; null: not
/// known here, such results are left out.
using ConditionsToday = std::function<Json(const std::string& trainer,
                                           const std::string& trainer_version, std::int64_t gpus)>;
/// Groups by difference, the largest first. Points that have a result of today are left out.
std::vector<StaleGroup> find_stale(const store::Store& store, const ConditionsToday& today);

/// "7d", "12h", "90 min", "30s" to seconds; nullopt when it is none of these, not above 0 or more
/// than a hundred years.
std::optional<std::int64_t> age_of(std::string_view text);

}  // namespace tunebench::campaign
