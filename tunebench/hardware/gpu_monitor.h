#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tunebench::hardware {

/// What a GPU is; does not change while a run lasts. Absent: the driver does not tell.
struct GpuIdentity {
  int index = 0;     ///< NVML's order
  std::string uuid;  ///< GPU-13096139-7ada-8313-ee08-000dd8540fe1
  std::string name;  ///< NVIDIA H200
  std::optional<std::int64_t> memory_bytes;
  std::optional<double> power_limit_w;
  std::optional<std::string> vbios;
  std::optional<bool> mig;
  std::optional<bool> ecc;
  std::optional<std::string> pci_bus_id;  ///< 00000000:18:00.0
  std::optional<int> pcie_generation;     ///< the most that device and slot can do together
  std::optional<int> pcie_lanes;          ///< the same
};

/// One look at one GPU. Each reading stands alone: one that the device does not support is absent
/// and named in `missing` with the reason, the others are there.
struct GpuReading {
  std::optional<double> utilization_percent;  ///< share of time a kernel ran
  std::optional<double> memory_used_percent;  ///< used / total of the device
  std::optional<std::int64_t> memory_used_bytes;
  std::optional<double> power_w;
  std::optional<double> energy_j;  ///< counter since the driver was loaded
  std::optional<double> temperature_c;
  std::optional<double> sm_clock_mhz;
  std::optional<double> memory_clock_mhz;
  std::optional<std::uint64_t> throttle_reasons;  ///< NVML's bit mask
  std::vector<std::string> missing;               ///< "power: not supported"
  bool lost = false;                              ///< the device fell off the bus
};

/// A process that has a compute context on the device.
struct GpuProcess {
  std::int64_t pid = 0;
  std::optional<std::int64_t> memory_bytes;
};

/// Bits of throttle_reasons that mean "slower than asked for by heat or power"; idle and
/// application clock settings are not among them.
/// Source: NVML API reference, nvmlClocksEventReasons.
inline constexpr std::uint64_t kSlowdownReasons = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// NVIDIA's management library, found at run time with dlopen: no GPU, driver or library is needed
/// to build or start. Thread-safe as NVML is.
class GpuMonitor {
 public:
  /// `library` empty: libnvidia-ml.so.1. nullptr when there is no usable driver, with one line in
  /// `reason` ("no NVIDIA driver found (libnvidia-ml.so.1: ...)").
  static std::unique_ptr<GpuMonitor> open(const std::filesystem::path& library,
                                          std::string& reason);
  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;
  GpuMonitor& operator=(const GpuMonitor&) = delete;

  [[nodiscard]] const std::string& driver_version() const;
  [[nodiscard]] const std::string& cuda_version() const;  ///< "13.0", or empty
  [[nodiscard]] const std::vector<GpuIdentity>& devices() const;
  [[nodiscard]] GpuReading read(int index) const;
  [[nodiscard]] std::vector<GpuProcess> processes(int index) const;

  /// How two devices reach each other, in the words of `nvidia-smi topo -m`: "NV18" over that many
  /// NVLinks, else by what their PCIe paths meet at: PIX (one bridge), PXB (several), PHB (host
  /// bridge), NODE (NUMA node), SYS (between sockets). nullopt when the driver does not tell.
  [[nodiscard]] std::optional<std::string> link(int first, int second) const;

  /// "1g.18gb" for the MIG UUID of a slice; empty for any other name and where NVML does not tell.
  [[nodiscard]] std::string mig_profile(std::string_view uuid) const;

  /// Devices named by CUDA_VISIBLE_DEVICES: numbers, full UUIDs, unambiguous prefixes. MIG UUIDs
  /// resolve to the device that holds the slice when NVML knows it. "" gives none.
  /// Errors: InvalidInput naming what is unknown or ambiguous; never falls back to device 0.
  [[nodiscard]] std::vector<int> resolve_visible(std::string_view visible) const;

 private:
  GpuMonitor();
  struct State;
  std::unique_ptr<State> state_;
};

/// The driver of this machine, opened at the first call and kept while the program runs. nullptr
/// when there is none, with one line in `reason`. Thread-safe.
const GpuMonitor* system_gpus(std::string& reason);

/// 16 raw bytes as GPU-8-4-4-4-12; zero bytes count as bytes.
std::string format_gpu_uuid(std::span<const std::uint8_t, 16> bytes);

/// "thermal slowdown, power cap" for the slow-down bits of a mask; empty when there are none.
std::string throttle_text(std::uint64_t reasons);

}  // namespace tunebench::hardware
