#include <algorithm>
#include <functional>

#include "tunebench/hardware/telemetry.h"

namespace tunebench::hardware {
namespace {

using Samples = std::span<const TelemetrySample>;
using Reading = std::function<std::optional<double>(const TelemetrySample&)>;

double seconds_between(std::chrono::nanoseconds begin, std::chrono::nanoseconds end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// A counter's value at `time`, linear between the samples around it, constant beyond them.
std::optional<double> counter_at(Samples samples, std::chrono::nanoseconds time,
                                 const Reading& counter) {
  const TelemetrySample* before = nullptr;
  const TelemetrySample* after = nullptr;
  for (const TelemetrySample& sample : samples) {
    if (!counter(sample)) {
      continue;
    }
    if (sample.time <= time) {
      before = &sample;
    } else if (after == nullptr) {
      after = &sample;
    }
  }
  if (before == nullptr && after == nullptr) {
    return std::nullopt;
  }
  if (before == nullptr || after == nullptr) {
    return counter(before == nullptr ? *after : *before);
  }
  const double share =
      seconds_between(before->time, time) / seconds_between(before->time, after->time);
  const double from = *counter(*before);
  return from + share * (*counter(*after) - from);
}

std::optional<double> counter_difference(Samples samples, std::chrono::nanoseconds begin,
                                         std::chrono::nanoseconds end, const Reading& counter) {
  const auto first = counter_at(samples, begin, counter);
  const auto last = counter_at(samples, end, counter);
  if (!first || !last) {
    return std::nullopt;
  }
  return std::max(0.0, *last - *first);
}

std::optional<Range> range_of(Samples window, const Reading& reading) {
  std::optional<Range> range;
  double sum = 0;
  double count = 0;
  for (const TelemetrySample& sample : window) {
    if (const auto value = reading(sample)) {
      if (!range) {
        range = Range{*value, 0, *value};
      }
      range->min = std::min(range->min, *value);
      range->max = std::max(range->max, *value);
      sum += *value;
      count += 1;
    }
  }
  if (range) {
    range->mean = sum / count;
  }
  return range;
}

/// Trapezes between the samples that have the reading, cut at the window's ends.
std::optional<double> integral(Samples samples, std::chrono::nanoseconds begin,
                               std::chrono::nanoseconds end, const Reading& reading) {
  std::vector<std::chrono::nanoseconds> times{begin};
  for (const TelemetrySample& sample : samples) {
    if (sample.time > begin && sample.time < end && reading(sample)) {
      times.push_back(sample.time);
    }
  }
  times.push_back(end);
  double sum = 0;
  for (std::size_t i = 1; i < times.size(); ++i) {
    const auto left = counter_at(samples, times[i - 1], reading);
    const auto right = counter_at(samples, times[i], reading);
    if (!left || !right) {
      return std::nullopt;
    }
    sum += (*left + *right) / 2 * seconds_between(times[i - 1], times[i]);
  }
  return sum;
}

/// The samples inside the window; the nearest one when none is.
Samples inside(Samples samples, std::chrono::nanoseconds begin, std::chrono::nanoseconds end) {
  const auto first = std::find_if(samples.begin(), samples.end(),
                                  [&](const TelemetrySample& s) { return s.time >= begin; });
  const auto last =
      std::find_if(first, samples.end(), [&](const TelemetrySample& s) { return s.time > end; });
  if (first != last) {
    return {first, last};
  }
  if (samples.empty()) {
    return samples;
  }
  return first == samples.end() ? samples.last(1) : Samples(first, 1);
}

const GpuReading* gpu_of(const TelemetrySample& sample, std::size_t gpu) {
  return gpu < sample.gpus.size() ? &sample.gpus[gpu] : nullptr;
}

Reading gpu_reading(std::size_t gpu, std::optional<double> GpuReading::*member) {
  return [gpu, member](const TelemetrySample& sample) -> std::optional<double> {
    const GpuReading* reading = gpu_of(sample, gpu);
    return reading == nullptr ? std::nullopt : reading->*member;
  };
}

void note_throttling(Samples window, std::size_t gpu, GpuSummary& summary) {
  double looked = 0;
  double slow = 0;
  for (const TelemetrySample& sample : window) {
    const GpuReading* reading = gpu_of(sample, gpu);
    if (reading == nullptr || !reading->throttle_reasons) {
      continue;
    }
    looked += 1;
    const std::uint64_t reasons = *reading->throttle_reasons & kSlowdownReasons;
    summary.throttle_reasons |= reasons;
    slow += reasons != 0 ? 1 : 0;
  }
  summary.throttled_share = looked > 0 ? slow / looked : 0;
}

void note_missing(Samples window, std::size_t gpu, GpuSummary& summary) {
  for (const TelemetrySample& sample : window) {
    const GpuReading* reading = gpu_of(sample, gpu);
    if (reading == nullptr) {
      continue;
    }
    summary.lost = summary.lost || reading->lost;
    for (const std::string& note : reading->missing) {
      if (std::find(summary.missing.begin(), summary.missing.end(), note) ==
          summary.missing.end()) {
        summary.missing.push_back(note);
      }
    }
    if (reading->memory_used_bytes) {
      summary.memory_peak_bytes =
          std::max(summary.memory_peak_bytes.value_or(0), *reading->memory_used_bytes);
    }
  }
}

GpuSummary summarize_gpu(Samples samples, Samples window, std::chrono::nanoseconds begin,
                         std::chrono::nanoseconds end, std::size_t gpu,
                         std::optional<double> power_limit_w) {
  GpuSummary summary;
  summary.utilization_percent =
      range_of(window, gpu_reading(gpu, &GpuReading::utilization_percent));
  summary.memory_used_percent =
      range_of(window, gpu_reading(gpu, &GpuReading::memory_used_percent));
  summary.power_w = range_of(window, gpu_reading(gpu, &GpuReading::power_w));
  summary.temperature_c = range_of(window, gpu_reading(gpu, &GpuReading::temperature_c));
  summary.sm_clock_mhz = range_of(window, gpu_reading(gpu, &GpuReading::sm_clock_mhz));
  if (summary.power_w && power_limit_w && *power_limit_w > 0) {
    const double factor = 100.0 / *power_limit_w;
    summary.power_percent = Range{summary.power_w->min * factor, summary.power_w->mean * factor,
                                  summary.power_w->max * factor};
  }
  summary.energy_j =
      counter_difference(samples, begin, end, gpu_reading(gpu, &GpuReading::energy_j));
  if (!summary.energy_j) {
    summary.energy_j = integral(samples, begin, end, gpu_reading(gpu, &GpuReading::power_w));
    summary.energy_integrated = summary.energy_j.has_value();
  }
  note_throttling(window, gpu, summary);
  note_missing(window, gpu, summary);
  return summary;
}

void summarize_machine(Samples samples, Samples window, std::chrono::nanoseconds begin,
                       std::chrono::nanoseconds end, TelemetrySummary& summary) {
  const auto busy = counter_difference(samples, begin, end,
                                       [](const TelemetrySample& s) { return s.machine.busy_s; });
  if (busy && summary.cpu_cores_used && summary.seconds > 0) {
    summary.other_cores_used = std::max(0.0, *busy / summary.seconds - *summary.cpu_cores_used);
  }
  summary.package_energy_j = counter_difference(
      samples, begin, end, [](const TelemetrySample& s) { return s.machine.package_energy_j; });
  summary.cpu_clock_mhz =
      range_of(window, [](const TelemetrySample& s) { return s.machine.clock_mhz; });
  const auto throttles = counter_difference(
      samples, begin, end, [](const TelemetrySample& s) -> std::optional<double> {
        if (!s.machine.throttle_events) {
          return std::nullopt;
        }
        return static_cast<double>(*s.machine.throttle_events);
      });
  if (throttles) {
    summary.cpu_throttle_events = static_cast<std::int64_t>(*throttles + 0.5);
  }
}

/// A tree reading, absent once the child is gone: its counters then say nothing.
Reading tree_reading(double (*get)(const TreeUsage&)) {
  return [get](const TelemetrySample& sample) -> std::optional<double> {
    return sample.tree.processes > 0 ? std::optional<double>(get(sample.tree)) : std::nullopt;
  };
}

}  // namespace

TelemetrySummary summarize(Samples samples, std::chrono::nanoseconds begin,
                           std::chrono::nanoseconds end, int usable_cores,
                           std::span<const GpuIdentity> identities) {
  TelemetrySummary summary;
  summary.seconds = seconds_between(begin, end);
  const Samples window = inside(samples, begin, end);
  summary.samples = std::count_if(samples.begin(), samples.end(), [&](const TelemetrySample& s) {
    return s.time >= begin && s.time <= end;
  });
  const auto cpu = counter_difference(samples, begin, end,
                                      tree_reading([](const TreeUsage& t) { return t.cpu_s; }));
  if (cpu && summary.seconds > 0) {
    summary.cpu_cores_used = *cpu / summary.seconds;
    summary.cpu_percent_of_usable = 100.0 * *summary.cpu_cores_used / std::max(1, usable_cores);
  }
  const auto faults = [&](double (*get)(const TreeUsage&)) {
    return static_cast<std::int64_t>(
        counter_difference(samples, begin, end, tree_reading(get)).value_or(0) + 0.5);
  };
  summary.minor_faults =
      faults([](const TreeUsage& t) { return static_cast<double>(t.minor_faults); });
  summary.major_faults =
      faults([](const TreeUsage& t) { return static_cast<double>(t.major_faults); });
  for (const TelemetrySample& sample : samples) {
    if (sample.time <= end) {
      summary.resident_peak_bytes =
          std::max(summary.resident_peak_bytes, sample.tree.resident_bytes);
    }
  }
  const auto resident = range_of(window, tree_reading([](const TreeUsage& t) {
                                   return static_cast<double>(t.resident_bytes);
                                 }));
  summary.resident_mean_bytes = resident ? resident->mean : 0;
  summarize_machine(samples, window, begin, end, summary);
  const std::size_t gpus = samples.empty() ? 0 : samples.front().gpus.size();
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const auto limit = gpu < identities.size() ? identities[gpu].power_limit_w : std::nullopt;
    summary.gpus.push_back(summarize_gpu(samples, window, begin, end, gpu, limit));
  }
  return summary;
}

}  // namespace tunebench::hardware
