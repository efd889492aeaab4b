#pragma once

#include <optional>
#include <string>

#include "tunebench/campaign/plan.h"
#include "tunebench/store/store.h"

namespace tunebench::campaign {

/// How long measurements will take, before any is made.
class TimeEstimate {
 public:
  /// From the newest runs of the store: measurements of the same model and trainer, else their
  /// measured rate of matrix products; without any, a guess by the number of cores.
  TimeEstimate(const Machine& machine, const store::Store* store, const std::string& model);

  /// Seconds of one measurement; nullopt when nothing is known, as of a simulated trainer.
  [[nodiscard]] std::optional<double> seconds(const PlannedPoint& point) const;
  /// "from 12 measurements of tiny"
  [[nodiscard]] const std::string& source() const { return source_; }

 private:
  double flops_per_s_ = 0;
  double setup_s_ = 0;
  std::optional<double> whole_s_;  ///< a simulated trainer's measurements take so long
  std::string source_;
};

}  // namespace tunebench::campaign
