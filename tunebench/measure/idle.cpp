#include "tunebench/measure/idle.h"

#include <algorithm>

#include <fmt/format.h>

#include "tunebench/base/thread_pool.h"
#include "tunebench/measure/measure.h"

namespace tunebench::measure {
namespace {

constexpr std::chrono::milliseconds kCpuLook{100};
constexpr std::chrono::seconds kBetweenLooks{1};

double seconds_of(std::chrono::nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

IdleCheck::IdleCheck(const PointGpus& gpus, const IdleRules& rules, Clock& clock,
                     const std::filesystem::path& proc)
    : gpus_(gpus), rules_(rules), clock_(clock), counters_(proc, "") {}

std::vector<std::string> IdleCheck::look() {
  return gpus_.devices.empty() ? look_at_cpu() : look_at_gpus();
}

std::vector<std::string> IdleCheck::look_at_gpus() const {
  std::vector<std::string> notes;
  for (const int device : gpus_.devices) {
    for (const hardware::GpuProcess& process : gpus_.monitor->processes(device)) {
      notes.push_back(fmt::format("gpu {}: process {} uses it", device, process.pid));
    }
    const hardware::GpuReading reading = gpus_.monitor->read(device);
    if (reading.utilization_percent.value_or(0) > rules_.most_gpu_percent) {
      notes.push_back(
          fmt::format("gpu {}: {:.0f} % utilized", device, *reading.utilization_percent));
    }
    if (reading.temperature_c.value_or(0) > rules_.most_gpu_temperature_c) {
      notes.push_back(fmt::format("gpu {}: {:.0f} degC, above {:.0f}", device,
                                  *reading.temperature_c, rules_.most_gpu_temperature_c));
    }
  }
  return notes;
}

std::vector<std::string> IdleCheck::look_at_cpu() {
  const std::optional<double> busy_before = counters_.read().busy_s;
  const std::chrono::nanoseconds before = clock_.now();
  clock_.sleep_for(kCpuLook);
  const double seconds = seconds_of(clock_.now() - before);
  const std::optional<double> busy_after = counters_.read().busy_s;
  if (!busy_before || !busy_after || seconds <= 0) {
    return {};
  }
  const double cores = (*busy_after - *busy_before) / seconds;
  const double most = std::max(rules_.most_other_cores, rules_.most_other_share * usable_cores());
  if (cores <= most) {
    return {};
  }
  return {fmt::format("other processes use {:.1f} cores", cores)};
}

std::vector<std::string> IdleCheck::wait(const StopFlag& stop) {
  const std::chrono::nanoseconds begin = clock_.now();
  while (true) {
    std::vector<std::string> notes = look();
    if (notes.empty() || stop.level.load() > 0 ||
        seconds_of(clock_.now() - begin) >= rules_.wait_s) {
      return notes;
    }
    clock_.sleep_for(kBetweenLooks);
  }
}

}  // namespace tunebench::measure
