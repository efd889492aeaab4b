#include "tunebench/hardware/gpu_monitor.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include <dlfcn.h>
#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/hardware/nvml_api.h"

namespace tunebench::hardware {
namespace {

template <typename Function>
void load(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));  // NOLINT: dlsym's own contract
}

nvml::Api load_api(void* library) {
  nvml::Api api;
#define TB_LOAD(name) load(library, #name, api.name)
  TB_LOAD(nvmlInit_v2);
  TB_LOAD(nvmlShutdown);
  TB_LOAD(nvmlErrorString);
  TB_LOAD(nvmlSystemGetDriverVersion);
  TB_LOAD(nvmlSystemGetCudaDriverVersion_v2);
  TB_LOAD(nvmlDeviceGetCount_v2);
  TB_LOAD(nvmlDeviceGetHandleByIndex_v2);
  TB_LOAD(nvmlDeviceGetHandleByUUID);
  TB_LOAD(nvmlDeviceGetDeviceHandleFromMigDeviceHandle);
  TB_LOAD(nvmlDeviceGetIndex);
  TB_LOAD(nvmlDeviceGetUUID);
  TB_LOAD(nvmlDeviceGetName);
  TB_LOAD(nvmlDeviceGetVbiosVersion);
  TB_LOAD(nvmlDeviceGetMigMode);
  TB_LOAD(nvmlDeviceGetEccMode);
  TB_LOAD(nvmlDeviceGetEnforcedPowerLimit);
  TB_LOAD(nvmlDeviceGetUtilizationRates);
  TB_LOAD(nvmlDeviceGetMemoryInfo);
  TB_LOAD(nvmlDeviceGetPowerUsage);
  TB_LOAD(nvmlDeviceGetTotalEnergyConsumption);
  TB_LOAD(nvmlDeviceGetTemperature);
  TB_LOAD(nvmlDeviceGetClockInfo);
  TB_LOAD(nvmlDeviceGetCurrentClocksThrottleReasons);
  TB_LOAD(nvmlDeviceGetComputeRunningProcesses_v3);
  TB_LOAD(nvmlDeviceGetPciInfo_v3);
  TB_LOAD(nvmlDeviceGetMaxPcieLinkGeneration);
  TB_LOAD(nvmlDeviceGetMaxPcieLinkWidth);
  TB_LOAD(nvmlDeviceGetTopologyCommonAncestor);
  TB_LOAD(nvmlDeviceGetP2PStatus);
  TB_LOAD(nvmlDeviceGetNvLinkState);
#undef TB_LOAD
  return api;
}

}  // namespace

struct GpuMonitor::State {
  void* library = nullptr;
  nvml::Api api;
  bool started = false;
  std::string driver;
  std::string cuda;
  std::vector<nvml::Device> handles;
  std::vector<GpuIdentity> devices;

  ~State() {
    if (started && api.nvmlShutdown != nullptr) {
      api.nvmlShutdown();
    }
    if (library != nullptr) {
      dlclose(library);
    }
  }

  [[nodiscard]] std::string text(nvml::Return code) const {
    if (code == nvml::kNotSupported) {
      return "not supported";
    }
    const char* words = api.nvmlErrorString == nullptr ? nullptr : api.nvmlErrorString(code);
    return words == nullptr ? fmt::format("error {}", code) : lower_ascii(words);
  }

  /// Calls one NVML function for a device; a missing function counts as not supported.
  template <typename... Parameters, typename... Arguments>
  nvml::Return call(nvml::Return (*function)(nvml::Device, Parameters...), nvml::Device device,
                    Arguments... arguments) const {
    return function == nullptr ? nvml::kNotSupported : function(device, arguments...);
  }

  [[nodiscard]] std::string string_of(nvml::Return (*function)(nvml::Device, char*, unsigned),
                                      nvml::Device device) const {
    std::array<char, 128> buffer{};
    if (call(function, device, buffer.data(), nvml::kNameSize) != nvml::kSuccess) {
      return {};
    }
    buffer.back() = '\0';
    return buffer.data();
  }

  [[nodiscard]] GpuIdentity identify(int index, nvml::Device device) const {
    GpuIdentity identity;
    identity.index = index;
    identity.uuid = string_of(api.nvmlDeviceGetUUID, device);
    identity.name = string_of(api.nvmlDeviceGetName, device);
    if (std::string vbios = string_of(api.nvmlDeviceGetVbiosVersion, device); !vbios.empty()) {
      identity.vbios = std::move(vbios);
    }
    nvml::Memory memory{};
    if (call(api.nvmlDeviceGetMemoryInfo, device, &memory) == nvml::kSuccess) {
      identity.memory_bytes = static_cast<std::int64_t>(memory.total);
    }
    unsigned milliwatts = 0;
    if (call(api.nvmlDeviceGetEnforcedPowerLimit, device, &milliwatts) == nvml::kSuccess) {
      identity.power_limit_w = milliwatts / 1000.0;
    }
    unsigned current = 0;
    unsigned pending = 0;
    if (call(api.nvmlDeviceGetMigMode, device, &current, &pending) == nvml::kSuccess) {
      identity.mig = current != 0;
    }
    if (call(api.nvmlDeviceGetEccMode, device, &current, &pending) == nvml::kSuccess) {
      identity.ecc = current != 0;
    }
    identify_bus(identity, device);
    return identity;
  }

  void identify_bus(GpuIdentity& identity, nvml::Device device) const {
    nvml::PciInfo pci{};
    if (call(api.nvmlDeviceGetPciInfo_v3, device, &pci) == nvml::kSuccess) {
      pci.bus_id[sizeof pci.bus_id - 1] = '\0';
      identity.pci_bus_id = pci.bus_id;
    }
    unsigned value = 0;
    if (call(api.nvmlDeviceGetMaxPcieLinkGeneration, device, &value) == nvml::kSuccess) {
      identity.pcie_generation = static_cast<int>(value);
    }
    if (call(api.nvmlDeviceGetMaxPcieLinkWidth, device, &value) == nvml::kSuccess) {
      identity.pcie_lanes = static_cast<int>(value);
    }
  }

  [[nodiscard]] int active_nvlinks(nvml::Device device) const {
    int active = 0;
    for (unsigned number = 0; number < nvml::kMostNvLinks; ++number) {
      int is_active = 0;
      if (call(api.nvmlDeviceGetNvLinkState, device, number, &is_active) == nvml::kSuccess) {
        active += is_active != 0 ? 1 : 0;
      }
    }
    return active;
  }

  void read_versions() {
    std::array<char, nvml::kVersionSize> version{};
    if (api.nvmlSystemGetDriverVersion != nullptr &&
        api.nvmlSystemGetDriverVersion(version.data(), nvml::kVersionSize) == nvml::kSuccess) {
      version.back() = '\0';
      driver = version.data();
    }
    int number = 0;
    if (api.nvmlSystemGetCudaDriverVersion_v2 != nullptr &&
        api.nvmlSystemGetCudaDriverVersion_v2(&number) == nvml::kSuccess) {
      cuda = fmt::format("{}.{}", number / 1000, number % 1000 / 10);
    }
  }

  void find_devices() {
    unsigned count = 0;
    if (api.nvmlDeviceGetCount_v2 == nullptr || api.nvmlDeviceGetHandleByIndex_v2 == nullptr ||
        api.nvmlDeviceGetCount_v2(&count) != nvml::kSuccess) {
      return;
    }
    for (unsigned index = 0; index < count; ++index) {
      nvml::Device device = nullptr;
      if (api.nvmlDeviceGetHandleByIndex_v2(index, &device) == nvml::kSuccess) {
        handles.push_back(device);
        devices.push_back(identify(static_cast<int>(index), device));
      }
    }
  }
};

GpuMonitor::GpuMonitor() : state_(std::make_unique<State>()) {}
GpuMonitor::~GpuMonitor() = default;

std::unique_ptr<GpuMonitor> GpuMonitor::open(const std::filesystem::path& library,
                                             std::string& reason) {
  const std::string file = library.empty() ? "libnvidia-ml.so.1" : library.string();
  std::unique_ptr<GpuMonitor> monitor(new GpuMonitor());
  State& state = *monitor->state_;
  state.library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (state.library == nullptr) {
    reason = fmt::format("no NVIDIA driver found ({} cannot be opened)", file);
    return nullptr;
  }
  state.api = load_api(state.library);
  if (state.api.nvmlInit_v2 == nullptr) {
    reason = fmt::format("{} has no nvmlInit_v2: not a usable NVIDIA management library", file);
    return nullptr;
  }
  if (const nvml::Return code = state.api.nvmlInit_v2(); code != nvml::kSuccess) {
    reason = fmt::format("no NVIDIA driver found (NVML: {})", state.text(code));
    return nullptr;
  }
  state.started = true;
  state.read_versions();
  state.find_devices();
  return monitor;
}

const std::string& GpuMonitor::driver_version() const {
  return state_->driver;
}
const std::string& GpuMonitor::cuda_version() const {
  return state_->cuda;
}
const std::vector<GpuIdentity>& GpuMonitor::devices() const {
  return state_->devices;
}

GpuReading GpuMonitor::read(int index) const {
  TB_CHECK(index >= 0 && static_cast<std::size_t>(index) < state_->handles.size());
  const State& state = *state_;
  const nvml::Api& api = state.api;
  nvml::Device device = state.handles[static_cast<std::size_t>(index)];
  GpuReading reading;
  const auto good = [&](nvml::Return code, const char* what) {
    if (code == nvml::kSuccess) {
      return true;
    }
    reading.lost = reading.lost || code == nvml::kGpuIsLost;
    reading.missing.push_back(fmt::format("{}: {}", what, state.text(code)));
    return false;
  };
  nvml::Utilization utilization{};
  if (good(state.call(api.nvmlDeviceGetUtilizationRates, device, &utilization), "utilization")) {
    reading.utilization_percent = utilization.gpu;
  }
  nvml::Memory memory{};
  if (good(state.call(api.nvmlDeviceGetMemoryInfo, device, &memory), "memory")) {
    reading.memory_used_bytes = static_cast<std::int64_t>(memory.used);
    if (memory.total > 0) {
      reading.memory_used_percent =
          100.0 * static_cast<double>(memory.used) / static_cast<double>(memory.total);
    }
  }
  unsigned value = 0;
  if (good(state.call(api.nvmlDeviceGetPowerUsage, device, &value), "power")) {
    reading.power_w = value / 1000.0;
  }
  unsigned long long wide = 0;
  if (good(state.call(api.nvmlDeviceGetTotalEnergyConsumption, device, &wide), "energy")) {
    reading.energy_j = static_cast<double>(wide) / 1000.0;
  }
  if (good(state.call(api.nvmlDeviceGetTemperature, device, nvml::kTemperatureGpu, &value),
           "temperature")) {
    reading.temperature_c = value;
  }
  if (good(state.call(api.nvmlDeviceGetClockInfo, device, nvml::kClockSm, &value), "sm clock")) {
    reading.sm_clock_mhz = value;
  }
  if (good(state.call(api.nvmlDeviceGetClockInfo, device, nvml::kClockMemory, &value),
           "memory clock")) {
    reading.memory_clock_mhz = value;
  }
  if (good(state.call(api.nvmlDeviceGetCurrentClocksThrottleReasons, device, &wide),
           "throttle reasons")) {
    reading.throttle_reasons = wide;
  }
  return reading;
}

std::vector<GpuProcess> GpuMonitor::processes(int index) const {
  TB_CHECK(index >= 0 && static_cast<std::size_t>(index) < state_->handles.size());
  const auto function = state_->api.nvmlDeviceGetComputeRunningProcesses_v3;
  nvml::Device device = state_->handles[static_cast<std::size_t>(index)];
  std::vector<nvml::ProcessInfo> found(16);
  for (int attempt = 0; attempt < 4; ++attempt) {
    auto count = static_cast<unsigned>(found.size());
    const nvml::Return code = state_->call(function, device, &count, found.data());
    if (code == nvml::kInsufficientSize) {
      found.resize(found.size() * 2 + count);  // processes may start between the two calls
      continue;
    }
    found.resize(code == nvml::kSuccess ? count : 0);
    break;
  }
  std::vector<GpuProcess> processes;
  for (const nvml::ProcessInfo& info : found) {
    GpuProcess process{.pid = info.pid, .memory_bytes = std::nullopt};
    if (info.used_memory != nvml::kMemoryNotAvailable) {
      process.memory_bytes = static_cast<std::int64_t>(info.used_memory);
    }
    processes.push_back(process);
  }
  return processes;
}

std::optional<std::string> GpuMonitor::link(int first, int second) const {
  const State& state = *state_;
  nvml::Device one = state.handles.at(static_cast<std::size_t>(first));
  nvml::Device other = state.handles.at(static_cast<std::size_t>(second));
  int status = -1;
  if (state.call(state.api.nvmlDeviceGetP2PStatus, one, other, nvml::kP2pOverNvLink, &status) ==
          nvml::kSuccess &&
      status == nvml::kP2pWorks) {
    if (const int links = state.active_nvlinks(one); links > 0) {
      return fmt::format("NV{}", links);
    }
  }
  int level = 0;
  if (state.call(state.api.nvmlDeviceGetTopologyCommonAncestor, one, other, &level) !=
      nvml::kSuccess) {
    return std::nullopt;
  }
  // nvmlGpuTopologyLevel_t goes up in tens.
  static constexpr std::array<const char*, 6> kNames{"PIX", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return kNames[static_cast<std::size_t>(std::clamp(level / 10, 0, 5))];
}

std::string GpuMonitor::mig_profile(std::string_view uuid) const {
  constexpr std::string_view kBefore = "MIG ";  // NVIDIA H200 MIG 1g.18gb
  const nvml::Api& api = state_->api;
  nvml::Device slice = nullptr;
  if (!uuid.starts_with("MIG-") || api.nvmlDeviceGetHandleByUUID == nullptr ||
      api.nvmlDeviceGetHandleByUUID(std::string(uuid).c_str(), &slice) != nvml::kSuccess) {
    return "";
  }
  const std::string name = state_->string_of(api.nvmlDeviceGetName, slice);
  const std::size_t place = name.rfind(kBefore);
  return place == std::string::npos ? "" : name.substr(place + kBefore.size());
}

std::vector<int> GpuMonitor::resolve_visible(std::string_view visible) const {
  std::vector<int> chosen;
  if (trim(visible).empty()) {
    return chosen;
  }
  for (const std::string& part : split(visible, ',')) {
    const std::string name(trim(part));
    if (const auto number = parse_int(name)) {
      if (*number < 0 || *number >= static_cast<std::int64_t>(state_->devices.size())) {
        throw Error(ErrorCode::InvalidInput,
                    fmt::format("CUDA_VISIBLE_DEVICES names device {}, but there are {}", name,
                                state_->devices.size()));
      }
      chosen.push_back(static_cast<int>(*number));
      continue;
    }
    std::vector<int> matches;
    for (const GpuIdentity& device : state_->devices) {
      if (!name.empty() && device.uuid.starts_with(name)) {
        matches.push_back(device.index);
      }
    }
    const nvml::Api& api = state_->api;
    nvml::Device slice = nullptr;
    nvml::Device parent = nullptr;
    unsigned index = 0;
    if (name.starts_with("MIG-") && api.nvmlDeviceGetHandleByUUID != nullptr &&
        api.nvmlDeviceGetHandleByUUID(name.c_str(), &slice) == nvml::kSuccess &&
        state_->call(api.nvmlDeviceGetDeviceHandleFromMigDeviceHandle, slice, &parent) ==
            nvml::kSuccess &&
        state_->call(api.nvmlDeviceGetIndex, parent, &index) == nvml::kSuccess) {
      matches.push_back(static_cast<int>(index));
    }
    if (matches.size() != 1) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("CUDA_VISIBLE_DEVICES names '{}', which is {}", printable(name),
                              matches.empty() ? "no device here" : "not unique"));
    }
    chosen.push_back(matches.front());
  }
  return chosen;
}

const GpuMonitor* system_gpus(std::string& reason) {
  struct Opened {
    std::string why_not;
    std::unique_ptr<GpuMonitor> monitor = GpuMonitor::open({}, why_not);
  };
  static const Opened kOpened;
  reason = kOpened.why_not;
  return kOpened.monitor.get();
}

std::string format_gpu_uuid(std::span<const std::uint8_t, 16> bytes) {
  std::string text = "GPU-";
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) {
      text += '-';
    }
    text += fmt::format("{:02x}", bytes[i]);
  }
  return text;
}

std::string throttle_text(std::uint64_t reasons) {
  static constexpr std::array<std::pair<std::uint64_t, const char*>, 5> kNames{{
      {0x4, "power cap"},
      {0x8, "hardware slowdown"},
      {0x20, "software thermal slowdown"},
      {0x40, "hardware thermal slowdown"},
      {0x80, "hardware power brake"},
  }};
  std::vector<std::string> parts;
  for (const auto& [bit, name] : kNames) {
    if ((reasons & bit) != 0) {
      parts.emplace_back(name);
    }
  }
  return join(parts, ", ");
}

}  // namespace tunebench::hardware
