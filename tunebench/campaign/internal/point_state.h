#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "tunebench/campaign/plan.h"
#include "tunebench/record/record.h"

namespace tunebench::campaign {

/// What a campaign knows about one point.
struct PointState {
  std::int64_t counted = 0;       ///< measurements that count, reused ones included
  std::int64_t valid = 0;         ///< of those, the valid ones
  bool finished = false;          ///< nothing more is to be measured
  std::int64_t next_attempt = 1;  ///< above 1: the last attempt failed and is worth another
  std::set<std::string> seen;     ///< records linked or made
  std::vector<double> rates;      ///< of the valid ones
};

/// Counts a result that nobody will try again. `times`: how often the point was chosen; each time
/// it is measured anew.
void count(PointState& state, const record::Record& record, const Plan& plan,
           std::int64_t times = 1);

/// Counts a result of this run, of before an interruption: one that is to be tried again leaves the
/// point as it was.
void restore(PointState& state, const record::Record& record, const Plan& plan,
             std::int64_t times = 1);

/// At least so many measurements of the point are still to come.
std::int64_t wanted(const PointState& state, const Plan& plan, std::int64_t times = 1);

}  // namespace tunebench::campaign
