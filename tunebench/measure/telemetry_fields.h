#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tunebench/hardware/telemetry.h"
#include "tunebench/record/record.h"

namespace tunebench::measure {

/// What was sampled while a child ran, and on what.
struct Sampled {
  std::span<const hardware::TelemetrySample> samples;
  std::vector<hardware::GpuIdentity> gpus;  ///< in the order of the samples'
  std::string gpus_missing;                 ///< why GPUs in use were not looked at
  int usable_cores = 1;
  std::int64_t usable_memory_bytes = 0;  ///< 0: not known
};

/// The timed window, CLOCK_MONOTONIC as the samples.
struct TimedSpan {
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};

/// System figures of the timed window, and energy for the record's tokens_nonpad. Nothing but a
/// note when fewer than two samples lie in the window. A GPU's missing reading is warned of once.
void set_telemetry_fields(record::Record& record, const Sampled& sampled, const TimedSpan& window);

}  // namespace tunebench::measure
