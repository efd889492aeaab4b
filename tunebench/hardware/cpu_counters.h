#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace tunebench::hardware {

/// Counters of the whole machine. Absent: the system does not tell.
struct CpuCounters {
  std::optional<double> busy_s;                 ///< core seconds spent by everybody since boot
  std::optional<double> package_energy_j;       ///< RAPL, summed over packages, wrap-around removed
  std::optional<double> clock_mhz;              ///< mean over cores, now
  std::optional<std::int64_t> throttle_events;  ///< thermal, summed over cores, since boot
};

/// Reads the counters; keeps what is needed to undo RAPL's wrap-around, so one object must do all
/// the readings of a run. Not thread-safe.
/// Sources: proc(5) stat; kernel documentation power/powercap/powercap.rst,
/// sysfs-devices-system-cpu.
class CpuCounterReader {
 public:
  explicit CpuCounterReader(const std::filesystem::path& proc = "/proc",
                            const std::filesystem::path& sys = "/sys");
  CpuCounters read();

 private:
  struct Package {
    std::filesystem::path energy_file;
    double range_uj = 0;
    double last_uj = 0;
    double total_uj = 0;
  };
  std::filesystem::path proc_;
  std::vector<Package> packages_;
  std::vector<std::filesystem::path> clock_files_;
  std::vector<std::filesystem::path> throttle_files_;
};

}  // namespace tunebench::hardware
