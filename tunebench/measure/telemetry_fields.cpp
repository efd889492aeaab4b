#include "tunebench/measure/telemetry_fields.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "tunebench/base/log.h"
#include "tunebench/base/text.h"
#include "tunebench/measure/measured_fields.h"

namespace tunebench::measure {
namespace {

using hardware::GpuSummary;
using hardware::Range;
using hardware::TelemetrySummary;
using record::Record;

/// The means of those devices that have the reading.
std::vector<double> means(const std::vector<GpuSummary>& gpus,
                          std::optional<Range> GpuSummary::*reading) {
  std::vector<double> values;
  for (const GpuSummary& gpu : gpus) {
    if ((gpu.*reading).has_value()) {
      values.push_back((gpu.*reading)->mean);
    }
  }
  return values;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    sum += value;
  }
  return sum / static_cast<double>(values.size());
}

void set_over_devices(Record& record, const std::string& name, const std::vector<double>& values) {
  if (!values.empty()) {
    record.set(name + "_min", std::ranges::min(values));
    record.set(name + "_avg", mean_of(values));
    record.set(name + "_max", std::ranges::max(values));
  }
}

void set_gpu_fields(Record& record, const std::vector<GpuSummary>& gpus) {
  set_over_devices(record, "gpu_compute_utilization",
                   means(gpus, &GpuSummary::utilization_percent));
  set_over_devices(record, "gpu_memory_utilization", means(gpus, &GpuSummary::memory_used_percent));
  set_over_devices(record, "gpu_power_watts", means(gpus, &GpuSummary::power_w));
  set_over_devices(record, "gpu_power_percent", means(gpus, &GpuSummary::power_percent));
  if (const std::vector<double> clocks = means(gpus, &GpuSummary::sm_clock_mhz); !clocks.empty()) {
    record.set("gpu_clock_mhz", mean_of(clocks));
  }
  std::optional<double> peak_percent;
  std::optional<std::int64_t> peak_bytes;
  std::optional<double> hottest;
  double throttled = 0;
  std::uint64_t reasons = 0;
  bool throttling_told = false;
  for (const GpuSummary& gpu : gpus) {
    peak_percent = std::max(peak_percent, gpu.memory_peak_percent);
    peak_bytes = std::max(peak_bytes, gpu.memory_peak_bytes);
    if (gpu.temperature_c.has_value()) {
      hottest = std::max(hottest, std::optional(gpu.temperature_c->max));
    }
    throttling_told = throttling_told || gpu.throttled_share.has_value();
    throttled = std::max(throttled, gpu.throttled_share.value_or(0));
    reasons |= gpu.throttle_reasons;
  }
  set_if_known(record, "gpu_memory_utilization_peak", peak_percent);
  set_if_known(record, "gpu_temperature_max_c", hottest);
  if (peak_bytes.has_value()) {
    record.set("gpu_memory_peak_bytes", *peak_bytes);
  }
  if (throttling_told) {
    record.set("gpu_throttled_percent", 100.0 * throttled);
  }
  if (reasons != 0) {
    record.set("gpu_throttle_reasons", hardware::throttle_text(reasons));
  }
}

void set_machine_fields(Record& record, const TelemetrySummary& summary, const Sampled& sampled) {
  if (summary.cpu_cores_used.has_value()) {
    record.set("cpu_cores_used", *summary.cpu_cores_used);
    record.set("cpu_compute_utilization", 100.0 * *summary.cpu_cores_used);
    record.set("page_faults_minor", summary.minor_faults);
    record.set("page_faults_major", summary.major_faults);
  }
  set_if_known(record, "cpu_percent_of_usable", summary.cpu_percent_of_usable);
  set_if_known(record, "other_cores_used", summary.other_cores_used);
  if (summary.resident_mean_bytes > 0) {
    record.set("resident_mean_bytes",
               static_cast<std::int64_t>(std::llround(summary.resident_mean_bytes)));
    if (sampled.usable_memory_bytes > 0) {
      record.set("cpu_memory_utilization", 100.0 * summary.resident_mean_bytes /
                                               static_cast<double>(sampled.usable_memory_bytes));
    }
  }
  if (summary.cpu_clock_mhz.has_value()) {
    record.set("cpu_clock_mhz", summary.cpu_clock_mhz->mean);
  }
  if (summary.cpu_throttle_events.has_value()) {
    record.set("cpu_throttle_events", *summary.cpu_throttle_events);
  }
  set_if_known(record, "cpu_package_energy_j", summary.package_energy_j);
}

/// The energy of all GPUs in use, or nothing: a sum that lacks one of them says too little.
std::optional<double> gpu_energy(const std::vector<GpuSummary>& gpus,
                                 std::vector<std::string>& sources) {
  double sum = 0;
  bool counted = false;
  bool integrated = false;
  for (const GpuSummary& gpu : gpus) {
    if (!gpu.energy_j.has_value() || gpu.lost) {
      return std::nullopt;
    }
    sum += *gpu.energy_j;
    (gpu.energy_integrated ? integrated : counted) = true;
  }
  if (counted) {
    sources.emplace_back("gpu counter");
  }
  if (integrated) {
    sources.emplace_back("gpu power");
  }
  return sum;
}

void set_energy_fields(Record& record, const TelemetrySummary& summary, const Sampled& sampled) {
  std::vector<std::string> sources;
  std::optional<double> energy;
  if (!sampled.gpus_missing.empty()) {
    return;  // the CPU alone is not what such a point takes
  }
  if (!summary.gpus.empty()) {
    energy = gpu_energy(summary.gpus, sources);
    if (!energy.has_value()) {
      return;
    }
  }
  if (summary.package_energy_j.has_value()) {
    energy = energy.value_or(0) + *summary.package_energy_j;
    sources.emplace_back("cpu package");
  }
  if (!energy.has_value()) {
    return;
  }
  record.set("energy_j", *energy);
  record.set("energy_source", join(sources, " + "));
  const double tokens = record.number("tokens_nonpad").value_or(0);
  if (tokens > 0) {
    record.set("j_per_token", *energy / tokens);
  }
  if (*energy > 0) {
    record.set("tokens_per_j", tokens / *energy);
  }
}

/// What is missing of the GPUs in use: those who use one care, so it is said aloud.
std::vector<std::string> missing_of_gpus(const TelemetrySummary& summary, const Sampled& sampled) {
  std::vector<std::string> notes;
  if (!sampled.gpus_missing.empty()) {
    notes.push_back(sampled.gpus_missing);
  }
  for (std::size_t i = 0; i < summary.gpus.size() && i < sampled.gpus.size(); ++i) {
    const GpuSummary& gpu = summary.gpus[i];
    const int index = sampled.gpus[i].index;
    if (gpu.lost) {
      notes.push_back(fmt::format("gpu {}: fell off the bus", index));
    }
    for (const std::string& reading : gpu.missing) {
      notes.push_back(fmt::format("gpu {} {}", index, reading));
    }
  }
  return notes;
}

std::vector<std::string> missing_of_machine(const TelemetrySummary& summary) {
  std::vector<std::string> notes;
  if (!summary.package_energy_j.has_value()) {
    notes.emplace_back("cpu energy: not readable");
  }
  if (!summary.cpu_clock_mhz.has_value()) {
    notes.emplace_back("cpu clock: not told");
  }
  if (!summary.cpu_throttle_events.has_value()) {
    notes.emplace_back("cpu throttling: not told");
  }
  return notes;
}

}  // namespace

void set_telemetry_fields(Record& record, const Sampled& sampled, const TimedSpan& window) {
  const TelemetrySummary summary = hardware::summarize(sampled.samples, window.begin, window.end,
                                                       sampled.usable_cores, sampled.gpus);
  std::vector<std::string> notes = missing_of_gpus(summary, sampled);
  if (!notes.empty()) {
    log_warning_once("not measured: " + join(notes, "; "));
  }
  record.set("telemetry_samples", summary.samples);
  if (summary.samples < 2) {
    notes.push_back(fmt::format("the timed window of {} is too short for system figures",
                                format_duration(summary.seconds)));
  } else {
    set_machine_fields(record, summary, sampled);
    set_gpu_fields(record, summary.gpus);
    set_energy_fields(record, summary, sampled);
    const std::vector<std::string> more = missing_of_machine(summary);
    notes.insert(notes.end(), more.begin(), more.end());
  }
  if (!notes.empty()) {
    record.set("telemetry_missing", join(notes, "; "));
  }
}

}  // namespace tunebench::measure
