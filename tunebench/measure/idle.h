#pragma once

#include <string>
#include <vector>

#include "tunebench/base/clock.h"
#include "tunebench/hardware/cpu_counters.h"
#include "tunebench/measure/point_gpus.h"

namespace tunebench::measure {

struct StopFlag;

/// What is done when a machine that is to be measured does something else.
struct IdleRules {
  double wait_s = 0;    ///< how long to wait for it to become idle first
  bool refuse = false;  ///< then: skip the point; else measure, warn and note it in the record
  double most_gpu_percent = 5;
  double most_gpu_temperature_c = 80;
  /// Cores that others may keep busy: this many, or this share of the usable ones if that is more.
  double most_other_cores = 0.25;
  double most_other_share = 0.1;
};

/// Looks at what a point will use: its GPUs (another process, utilization, heat), without GPUs the
/// CPU (time that others take, over 100 ms, in which this process sleeps).
class IdleCheck {
 public:
  IdleCheck(const PointGpus& gpus, const IdleRules& rules, Clock& clock,
            const std::filesystem::path& proc = "/proc");

  /// What is not idle, one note each: "gpu 0: process 4242 uses it", "other processes use 1.4
  /// cores". Empty: all is.
  std::vector<std::string> look();

  /// look() every second until all is idle, the time is over or the user stops; the last notes.
  std::vector<std::string> wait(const StopFlag& stop);

 private:
  std::vector<std::string> look_at_gpus() const;
  std::vector<std::string> look_at_cpu();

  const PointGpus& gpus_;
  IdleRules rules_;
  Clock& clock_;
  hardware::CpuCounterReader counters_;
};

}  // namespace tunebench::measure
