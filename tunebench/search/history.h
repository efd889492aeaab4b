#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tunebench/search/space.h"

namespace tunebench::search {

enum class Direction { Minimize, Maximize };

/// One finished measurement.
struct Observation {
  Point point = 0;
  std::vector<double> objectives;  ///< in the order of the directions; NaN counts as failed
  bool valid = true;               ///< false: out of memory, crash, timeout; bad, not unknown
  double seconds = 0;              ///< time it took
  double cost = 0;                 ///< in the user's currency
  std::int64_t budget = 0;         ///< training steps; 0: all of them
};

/// A measurement under way in this or another process: it is not proposed again.
struct Pending {
  Point point = 0;
  std::int64_t budget = 0;
};

/// What to measure next.
struct Choice {
  Point point = 0;
  std::int64_t budget = 0;  ///< training steps; 0: all of them
  std::string why;          ///< one phrase for a log
  /// How many measured points the method liked better than this one; they were not repeated.
  std::int64_t repeats_replaced = 0;
};

}  // namespace tunebench::search
