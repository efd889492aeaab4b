#include "tunebench/hardware/cpu_counters.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include <unistd.h>

#include "tunebench/base/text.h"

namespace tunebench::hardware {
namespace {

std::optional<double> number_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) {
    return std::nullopt;
  }
  return parse_real(trim(line));
}

std::vector<std::filesystem::path> entries(const std::filesystem::path& folder,
                                           std::string_view prefix) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().filename().string().starts_with(prefix)) {
      found.push_back(entry->path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Seconds of all states but idle and iowait of the "cpu" line.
std::optional<double> busy_seconds(const std::filesystem::path& stat) {
  std::ifstream file(stat);
  std::string label;
  if (!(file >> label) || label != "cpu") {
    return std::nullopt;
  }
  double busy = 0;
  double ticks = 0;
  for (int state = 0; state < 8 && file >> ticks; ++state) {
    constexpr int kIdle = 3;
    constexpr int kIoWait = 4;
    if (state != kIdle && state != kIoWait) {
      busy += ticks;
    }
  }
  return busy / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

CpuCounterReader::CpuCounterReader(const std::filesystem::path& proc,
                                   const std::filesystem::path& sys)
    : proc_(proc) {
  for (const auto& zone : entries(sys / "class/powercap", "intel-rapl:")) {
    // intel-rapl:0 is a package; intel-rapl:0:0 is a part of it and would be counted twice.
    const std::string name = zone.filename().string();
    if (std::count(name.begin(), name.end(), ':') != 1) {
      continue;
    }
    const auto now =
        number_in(zone / "energy_uj");  // unreadable for ordinary users on most systems
    if (now) {
      packages_.push_back(
          {zone / "energy_uj", number_in(zone / "max_energy_range_uj").value_or(0), *now, 0});
    }
  }
  for (const auto& cpu : entries(sys / "devices/system/cpu", "cpu")) {
    const auto clock = cpu / "cpufreq/scaling_cur_freq";
    const auto throttle = cpu / "thermal_throttle/core_throttle_count";
    std::error_code error;
    if (std::filesystem::exists(clock, error)) {
      clock_files_.push_back(clock);
    }
    if (std::filesystem::exists(throttle, error)) {
      throttle_files_.push_back(throttle);
    }
  }
}

CpuCounters CpuCounterReader::read() {
  CpuCounters counters;
  counters.busy_s = busy_seconds(proc_ / "stat");
  for (Package& package : packages_) {
    const double now = number_in(package.energy_file).value_or(package.last_uj);
    const double step = now - package.last_uj;
    package.total_uj += step >= 0 ? step : step + package.range_uj;
    package.last_uj = now;
    counters.package_energy_j = counters.package_energy_j.value_or(0) + package.total_uj * 1e-6;
  }
  double clock_sum_khz = 0;
  std::int64_t clocks = 0;
  for (const auto& file : clock_files_) {
    if (const auto khz = number_in(file)) {
      clock_sum_khz += *khz;
      clocks += 1;
    }
  }
  if (clocks > 0) {
    counters.clock_mhz = clock_sum_khz / 1000.0 / static_cast<double>(clocks);
  }
  for (const auto& file : throttle_files_) {
    if (const auto count = number_in(file)) {
      counters.throttle_events =
          counters.throttle_events.value_or(0) + static_cast<std::int64_t>(*count);
    }
  }
  return counters;
}

}  // namespace tunebench::hardware
