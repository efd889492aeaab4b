#pragma once

#include <chrono>
#include <vector>

#include "tunebench/campaign/plan.h"

namespace tunebench::campaign {

/// How long the rest of a run takes, from the measurements that it has made. A measurement's time
/// is taken as a part that does not depend on the point and a part that grows with its arithmetic;
/// after one finished measurement, all of it grows.
class TimeLeft {
 public:
  void add(const PlannedPoint& point, std::chrono::nanoseconds took);

  /// Seconds for the running measurement (`running_left`, 0: not known) and all of `unfinished`,
  /// which holds the running point once. 0: nothing is known.
  [[nodiscard]] double seconds(double running_left, const PlannedPoint& running,
                               const std::vector<const PlannedPoint*>& unfinished) const;

 private:
  [[nodiscard]] double predicted(const PlannedPoint& point) const;
  struct Timed {
    double flops = 0;
    double seconds = 0;
  };
  std::vector<Timed> timed_;
};

}  // namespace tunebench::campaign
