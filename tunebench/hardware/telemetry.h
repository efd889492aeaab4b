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
  const GpuMonitor* gpus = nullptr;
  std::vector<int> devices;
  std::filesystem::path proc = "/proc";
  std::filesystem::path sys = "/sys";
};

/// Samples in a thread of its own at a fixed rate from construction until stop(). One sample is
/// taken at the start and one at the stop, so short runs have two.
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

/// Smallest, mean and largest of a reading over time.
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
  std::optional<std::int64_t> memory_peak_bytes;
  std::optional<double> energy_j;  ///< counter difference, else power integrated over time
  bool energy_integrated = false;
  double throttled_share = 0;  ///< share of samples with a slow-down reason
  std::uint64_t throttle_reasons = 0;
  bool lost = false;
  std::vector<std::string> missing;  ///< each reading that was never there, once
};

/// A window [begin, end] of a run. Counters are interpolated at its ends; readings are taken from
/// the samples inside it (from the nearest one when none lies inside).
struct TelemetrySummary {
  double seconds = 0;
  std::int64_t samples = 0;                     ///< inside the window
  std::optional<double> cpu_percent_of_usable;  ///< CPU time of the tree / (seconds * cores)
  std::optional<double> cpu_cores_used;
  std::optional<double> other_cores_used;  ///< busy time of everybody else / seconds
  std::int64_t resident_peak_bytes = 0;    ///< of the tree, over all samples up to the end
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
