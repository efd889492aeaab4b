#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"

namespace tunebench::hardware {

/// What this machine is, as this process may use it. Texts are "unknown" and numbers 0 where the
/// system does not tell.
struct HostInfo {
  std::string hostname;
  std::string os;      ///< Debian GNU/Linux 12 (bookworm)
  std::string kernel;  ///< 6.1.0-18-amd64
  std::string cpu_model;
  int cores_total = 0;   ///< logical processors of the machine
  int cores_usable = 0;  ///< those this process may run on, cgroup quota included
  bool avx2 = false;     ///< AVX2 and FMA
  bool avx512 = false;   ///< AVX-512 F, BW, DQ and VL
  std::int64_t memory_total_bytes = 0;
  /// Smallest memory limit of the control groups above this process (versions 1 and 2); 0: none.
  std::int64_t memory_limit_bytes = 0;
  /// What this process may still take without swapping: the smaller of MemAvailable and, for each
  /// control group with a limit, limit - usage + file cache that can be dropped.
  std::int64_t memory_usable_bytes = 0;
  std::vector<std::string> gpu_models;  ///< of the GPUs that this process may use
};

/// Reads /proc, /sys, /etc and /dev below `root`, which tests replace. cores_usable is always that
/// of this process. Never throws for a file that is missing.
HostInfo read_host(const std::filesystem::path& root = "/");

/// As members of one flat object: part of every record's environment.
Json host_json(const HostInfo& host);

/// Part of the reuse key: measurements on hosts of different classes are not comparable.
/// "cpu:<model>:<usable cores>c", or "gpu:<model>:<count>" when the point uses GPUs.
/// Errors: InvalidInput when the host has fewer GPUs.
std::string hardware_class(const HostInfo& host, int gpus = 0);

/// Processes that were running or waiting in the last minute, on average; nullopt when the system
/// does not tell.
std::optional<double> load_average(const std::filesystem::path& root = "/");

/// Largest resident memory of this process so far. Unlike getrusage it does not count what the
/// process was before it was replaced by this program.
std::int64_t peak_resident_bytes(const std::filesystem::path& root = "/");

struct Gpu {
  std::string model;
  std::string uuid;
};
/// NVIDIA GPUs that have a device node, narrowed to `visible` as CUDA reads CUDA_VISIBLE_DEVICES:
/// absent: all; empty: none; numbers and UUID prefixes count up to the first that fits none or
/// several.
std::vector<Gpu> find_gpus(const std::filesystem::path& root,
                           std::optional<std::string_view> visible);

/// GPUs that this process may use: find_gpus of this machine and environment.
int gpu_count();

}  // namespace tunebench::hardware
