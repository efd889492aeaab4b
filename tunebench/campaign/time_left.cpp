#include "tunebench/campaign/time_left.h"

#include <algorithm>

namespace tunebench::campaign {

void TimeLeft::add(const PlannedPoint& point, std::chrono::nanoseconds took) {
  timed_.push_back({point.flops_per_step, std::chrono::duration<double>(took).count()});
}

double TimeLeft::predicted(const PlannedPoint& point) const {
  double mean_flops = 0;
  double mean_seconds = 0;
  const double count = static_cast<double>(timed_.size());
  for (const Timed& timed : timed_) {
    mean_flops += timed.flops / count;
    mean_seconds += timed.seconds / count;
  }
  double variance = 0;
  double covariance = 0;
  for (const Timed& timed : timed_) {
    variance += (timed.flops - mean_flops) * (timed.flops - mean_flops);
    covariance += (timed.flops - mean_flops) * (timed.seconds - mean_seconds);
  }
  const double steepest = mean_flops > 0 ? mean_seconds / mean_flops : 0;
  const double slope = variance > 0 ? std::clamp(covariance / variance, 0.0, steepest) : steepest;
  return mean_seconds + slope * (point.flops_per_step - mean_flops);
}

double TimeLeft::seconds(double running_left, const PlannedPoint& running,
                         const std::vector<const PlannedPoint*>& unfinished) const {
  if (timed_.empty()) {
    return unfinished.size() <= 1 ? running_left : 0;
  }
  double total = running_left > 0 ? running_left : predicted(running);
  bool skipped_running = false;
  for (const PlannedPoint* point : unfinished) {
    if (point == &running && !skipped_running) {
      skipped_running = true;
    } else {
      total += predicted(*point);
    }
  }
  return total;
}

}  // namespace tunebench::campaign
