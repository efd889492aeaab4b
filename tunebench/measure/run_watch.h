#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include <sys/types.h>

#include "tunebench/hardware/telemetry.h"
#include "tunebench/measure/point_gpus.h"
#include "tunebench/measure/telemetry_fields.h"
#include "tunebench/record/record.h"

namespace tunebench::measure {

/// Samples a child's process tree and its GPUs from its start to its end. Not thread-safe.
class RunWatch {
 public:
  /// `child` 0: there is no process to look at, and nothing is sampled.
  void start(pid_t child, const PointGpus& gpus, std::chrono::milliseconds interval);
  void stop();

  /// Largest resident memory of the whole tree; call after stop().
  [[nodiscard]] std::int64_t tree_peak_bytes() const;
  /// The system figures of the timed window; call after stop().
  void set_fields(record::Record& record, const TimedSpan& window) const;

 private:
  PointGpus gpus_;
  std::unique_ptr<hardware::TelemetrySampler> sampler_;
};

}  // namespace tunebench::measure
