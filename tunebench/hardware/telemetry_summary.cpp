#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>
#include <vector>

#include "tunebench/hardware/telemetry.h"

namespace tunebench::hardware {
namespace {

using Samples = std::span<const TelemetrySample>;
using Reading = std::function<std::optional<double>(const TelemetrySample&)>;

double seconds_between(std::chrono::nanoseconds begin, std::chrono::nanoseconds end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// A reading over time: the samples that have it.
using Curve = std::vector<std::pair<std::chrono::nanoseconds, double>>;

Curve curve_of(Samples samples, const Reading& reading) {
  Curve curve;
  for (const TelemetrySample& sample : samples) {
    if (const auto value = reading(sample)) {
      curve.emplace_back(sample.time, *value);
    }
  }
  return curve;
}

/// Linear between the samples around `time`, constant beyond them. The curve is not empty.
double value_at(const Curve& curve, std::chrono::nanoseconds time) {
  const auto after = std::ranges::upper_bound(curve, time, {}, &Curve::value_type::first);
  if (after == curve.begin()) {
    return curve.front().second;
  }
  const auto before = std::prev(after);
  if (after == curve.end()) {
    return before->second;
  }
  const double share =
      seconds_between(before->first, time) / seconds_between(before->first, after->first);
  return before->second + share * (after->second - before->second);
}

std::optional<double> counter_difference(Samples samples, std::chrono::nanoseconds begin,
                                         std::chrono::nanoseconds end, const Reading& counter) {
  const Curve curve = curve_of(samples, counter);
  if (curve.empty()) {
    return std::nullopt;
  }
  return std::max(0.0, value_at(curve, end) - value_at(curve, begin));
}

/// Trapezes between the points of the curve, cut at the window's ends. The curve is not empty.
double integral(const Curve& curve, std::chrono::nanoseconds begin, std::chrono::nanoseconds end) {
  double sum = 0;
  auto left_time = begin;
  double left = value_at(curve, begin);
  const auto add_up_to = [&](std::chrono::nanoseconds time, double value) {
    sum += (left + value) / 2 * seconds_between(left_time, time);
    left_time = time;
    left = value;
  };
  for (const auto& [time, value] : curve) {
    if (time > begin && time < end) {
      add_up_to(time, value);
    }
  }
  add_up_to(end, value_at(curve, end));
  return sum;
}

/// A part of a run: its ends and the samples between them.
struct Part {
  Samples samples;
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};

std::optional<Range> range_of(const Part& part, const Reading& reading) {
  const Curve curve = curve_of(part.samples, reading);
  if (curve.empty()) {
    return std::nullopt;
  }
  const auto [least, most] = std::ranges::minmax(curve, {}, &Curve::value_type::second);
  const double seconds = seconds_between(part.begin, part.end);
  const double mean = seconds > 0 ? integral(curve, part.begin, part.end) / seconds : least.second;
  // Rounding must not put the mean of a constant reading beside it.
  return Range{least.second, std::clamp(mean, least.second, most.second), most.second};
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
  if (looked > 0) {
    summary.throttled_share = slow / looked;
  }
}

/// Over the whole run: what falls off the bus in warm-up is lost, too, and memory peaks early.
void note_whole_run(Samples samples, std::size_t gpu, GpuSummary& summary) {
  for (const TelemetrySample& sample : samples) {
    const GpuReading* reading = gpu_of(sample, gpu);
    if (reading == nullptr) {
      continue;
    }
    if (reading->lost) {
      summary.lost = true;  // says all that its readings would
      continue;
    }
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
    if (reading->memory_used_percent) {
      summary.memory_peak_percent =
          std::max(summary.memory_peak_percent.value_or(0), *reading->memory_used_percent);
    }
  }
}

GpuSummary summarize_gpu(Samples samples, const Part& window, std::size_t gpu,
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
  summary.energy_j = counter_difference(samples, window.begin, window.end,
                                        gpu_reading(gpu, &GpuReading::energy_j));
  const Curve power = curve_of(samples, gpu_reading(gpu, &GpuReading::power_w));
  if (!summary.energy_j && !power.empty()) {
    summary.energy_j = integral(power, window.begin, window.end);
    summary.energy_integrated = true;
  }
  note_throttling(window.samples, gpu, summary);
  note_whole_run(samples, gpu, summary);
  return summary;
}

void summarize_machine(Samples samples, const Part& window, TelemetrySummary& summary) {
  const std::chrono::nanoseconds begin = window.begin;
  const std::chrono::nanoseconds end = window.end;
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
  const Part window{inside(samples, begin, end), begin, end};
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
    summary.resident_peak_bytes = std::max(summary.resident_peak_bytes, sample.tree.resident_bytes);
  }
  const auto resident = range_of(window, tree_reading([](const TreeUsage& t) {
                                   return static_cast<double>(t.resident_bytes);
                                 }));
  summary.resident_mean_bytes = resident ? resident->mean : 0;
  summarize_machine(samples, window, summary);
  const std::size_t gpus = samples.empty() ? 0 : samples.front().gpus.size();
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const auto limit = gpu < identities.size() ? identities[gpu].power_limit_w : std::nullopt;
    summary.gpus.push_back(summarize_gpu(samples, window, gpu, limit));
  }
  return summary;
}

}  // namespace tunebench::hardware
