#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tunebench/hardware/cpu_counters.h"
#include "tunebench/hardware/gpu_monitor.h"
#include "tunebench/hardware/process_tree.h"

namespace tunebench::hardware {

/// One look at the process tree, the machine and the watched GPUs.
struct TelemetrySample {
  std::chrono::nanoseconds time{0};  ///< CLOCK_MONOTONIC, as step events
  TreeUsage tree;
  CpuCounters machine;
  std::vector<GpuReading> gpus;  ///< in the order of TelemetryOptions::devices
};

struct TelemetryOptions {
  pid_t root = 0;  ///< the child; its descendants are counted with it
  std::chrono::milliseconds interval{500};
  /// Samples are denser at first, a sixteenth of the time since the start apart but never closer
  /// than this, so that the window of a short run has some of its own.
  std::chrono::milliseconds first_interval{20};
  const GpuMonitor* gpus = nullptr;
  std::vector<int> devices;
  std::filesystem::path proc = "/proc";
  std::filesystem::path sys = "/sys";
};

/// Samples in a thread of its own from construction until stop(), at a fixed rate after the first
/// seconds. One sample is taken at the start and one at the stop. The thread takes no signals.
/// What it costs: bench/telemetry_bench.
class TelemetrySampler {
 public:
  explicit TelemetrySampler(const TelemetryOptions& options);
  ~TelemetrySampler();
  TelemetrySampler(const TelemetrySampler&) = delete;
  TelemetrySampler& operator=(const TelemetrySampler&) = delete;

  /// Ends the thread; later calls do nothing.
  void stop();
  /// Everything sampled; call after stop().
  [[nodiscard]] const std::vector<TelemetrySample>& samples() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Smallest, largest and mean of a reading over the samples inside a window. The mean is that over
/// time: samples lie closer together at the start of a run and must not count for more there.
struct Range {
  double min = 0;
  double mean = 0;
  double max = 0;
};

/// One GPU over a window.
struct GpuSummary {
  std::optional<Range> utilization_percent;
  std::optional<Range> memory_used_percent;
  std::optional<Range> power_w;
  std::optional<Range> power_percent;  ///< of the enforced limit
  std::optional<Range> temperature_c;
  std::optional<Range> sm_clock_mhz;
  std::optional<std::int64_t> memory_peak_bytes;  ///< over the whole run, as the next
  std::optional<double> memory_peak_percent;
  std::optional<double> energy_j;  ///< counter difference, else power integrated over time
  bool energy_integrated = false;
  std::optional<double> throttled_share;  ///< of the samples that tell, those with a slow-down
  std::uint64_t throttle_reasons = 0;
  bool lost = false;                 ///< fell off the bus at any time of the run
  std::vector<std::string> missing;  ///< each reading that was not there at any time, once
};

/// A window [begin, end] of a run. Counters are interpolated at its ends; readings are taken from
/// the samples inside it (from the nearest one when none lies inside). Peaks of memory are those of
/// all samples, as is what a GPU did not tell.
struct TelemetrySummary {
  double seconds = 0;
  std::int64_t samples = 0;                     ///< inside the window
  std::optional<double> cpu_percent_of_usable;  ///< CPU time of the tree / (seconds * cores)
  std::optional<double> cpu_cores_used;
  std::optional<double> other_cores_used;  ///< busy time of everybody else / seconds
  std::int64_t resident_peak_bytes = 0;    ///< of the tree, over the whole run
  double resident_mean_bytes = 0;
  std::int64_t minor_faults = 0;
  std::int64_t major_faults = 0;
  std::optional<double> package_energy_j;
  std::optional<Range> cpu_clock_mhz;
  std::optional<std::int64_t> cpu_throttle_events;
  std::vector<GpuSummary> gpus;
};
TelemetrySummary summarize(std::span<const TelemetrySample> samples, std::chrono::nanoseconds begin,
                           std::chrono::nanoseconds end, int usable_cores,
                           std::span<const GpuIdentity> identities = {});

}  // namespace tunebench::hardware
