// A stand-in for libnvidia-ml.so.1, loaded by the tests. TB_FAKE_NVML holds space-separated
// settings: devices=2 init=0 power=3 (a return code for that reading) lost_after=5 (device 1 falls
// off the bus after that many readings) throttle=0x20 processes=4242 idle=1
// nvlinks=18 ancestor=10. Built a second time
// with TB_FAKE_NVML_OLD, it lacks the newer functions.

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tunebench/hardware/nvml_api.h"

using tunebench::hardware::nvml::Device;
using tunebench::hardware::nvml::Memory;
using tunebench::hardware::nvml::ProcessInfo;
using tunebench::hardware::nvml::Return;
using tunebench::hardware::nvml::Utilization;
namespace nvml = tunebench::hardware::nvml;

namespace {

std::atomic<int> readings{0};

long setting(const char* name, long fallback) {
  const char* all = std::getenv("TB_FAKE_NVML");
  if (all == nullptr) {
    return fallback;
  }
  const std::string text = std::string(" ") + all;
  const std::size_t at = text.find(std::string(" ") + name + "=");
  return at == std::string::npos
             ? fallback
             : std::strtol(text.c_str() + at + std::strlen(name) + 2, nullptr, 0);
}

std::size_t number_of(Device device) {
  return reinterpret_cast<std::uintptr_t>(device) - 1;
}

bool lost(Device device) {
  const long after = setting("lost_after", -1);
  return number_of(device) == 1 && after >= 0 && readings.load() > after;
}

Return answer(Device device, const char* reading) {
  if (lost(device)) {
    return nvml::kGpuIsLost;
  }
  return static_cast<Return>(setting(reading, 0));
}

Return text(char* out, unsigned size, const char* value) {
  std::snprintf(out, size, "%s", value);
  return nvml::kSuccess;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() {
  return static_cast<Return>(setting("init", 0));
}
Return nvmlShutdown() {
  return 0;
}
const char* nvmlErrorString(Return code) {
  switch (code) {
    case nvml::kDriverNotLoaded:
      return "Driver Not Loaded";
    case nvml::kGpuIsLost:
      return "GPU is lost";
    default:
      return "Unknown Error";
  }
}
Return nvmlSystemGetDriverVersion(char* out, unsigned size) {
  return text(out, size, "570.86.15");
}
Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(setting("devices", 2));
  return 0;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  *device = reinterpret_cast<Device>(static_cast<std::uintptr_t>(index) + 1);
  return 0;
}
Return nvmlDeviceGetUUID(Device device, char* out, unsigned size) {
  static constexpr std::array<const char*, 2> kUuids{"GPU-52a3a85d-0000-4000-8000-000000000000",
                                                     "GPU-af7b61d8-0000-4000-8000-000000000001"};
  return text(out, size, kUuids[number_of(device) % 2]);
}
Return nvmlDeviceGetName(Device device, char* out, unsigned size) {
  const bool slice = device == reinterpret_cast<Device>(std::uintptr_t{100});
  return text(out, size, slice ? "Fake H200 MIG 1g.18gb" : "Fake H200");
}
Return nvmlDeviceGetMemoryInfo(Device device, Memory* memory) {
  *memory = {1000, 1000 - 300 * (number_of(device) + 1), 300 * (number_of(device) + 1)};
  return answer(device, "memory");
}
Return nvmlDeviceGetUtilizationRates(Device device, Utilization* rates) {
  ++readings;
  *rates = {setting("idle", 0) != 0 ? 0U : number_of(device) == 1 ? 70U : 10U, 5U};
  return answer(device, "utilization");
}
Return nvmlDeviceGetPowerUsage(Device device, unsigned* milliwatts) {
  *milliwatts = 350000;
  return answer(device, "power");
}
Return nvmlDeviceGetTemperature(Device device, unsigned, unsigned* celsius) {
  *celsius = 55;
  return answer(device, "temperature");
}
Return nvmlDeviceGetClockInfo(Device device, unsigned type, unsigned* mhz) {
  *mhz = type == nvml::kClockSm ? 1980 : 3201;
  return answer(device, "clock");
}

#ifndef TB_FAKE_NVML_OLD
Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  *version = 12080;
  return 0;
}
Return nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  *milliwatts = 700000;
  return answer(device, "limit");
}
Return nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long* millijoules) {
  *millijoules = 1000000ULL + 1000ULL * static_cast<unsigned long long>(readings.load());
  return answer(device, "energy");
}
Return nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  *current = *pending = static_cast<unsigned>(setting("mig_mode", 0));
  return answer(device, "mig");
}
Return nvmlDeviceGetEccMode(Device device, unsigned* current, unsigned* pending) {
  *current = *pending = 1;
  return answer(device, "ecc");
}
Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  *reasons = static_cast<unsigned long long>(setting("throttle", 0));
  return answer(device, "reasons");
}
Return nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count, ProcessInfo* out) {
  const long pid = setting("processes", 0);
  const unsigned room = *count;
  *count = pid == 0 ? 0 : 1;
  if (pid != 0) {
    if (room < 1) {
      return nvml::kInsufficientSize;
    }
    out[0] = {static_cast<unsigned>(pid), 256, 0, 0};
  }
  return answer(device, "process_list");
}
Return nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  if (std::strcmp(uuid, "MIG-11111111-2222-3333-4444-555555555555") != 0) {
    return nvml::kNotFound;
  }
  *device = reinterpret_cast<Device>(std::uintptr_t{100});
  return 0;
}
Return nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device, Device* parent) {
  *parent = reinterpret_cast<Device>(std::uintptr_t{2});
  return 0;
}
Return nvmlDeviceGetPciInfo_v3(Device device, nvml::PciInfo* pci) {
  *pci = {};
  std::snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0",
                0x18U + static_cast<unsigned>(number_of(device)));
  return answer(device, "pci");
}
Return nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned* generation) {
  *generation = 5;
  return answer(device, "pcie");
}
Return nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned* lanes) {
  *lanes = 16;
  return answer(device, "pcie");
}
Return nvmlDeviceGetTopologyCommonAncestor(Device device, Device, int* level) {
  *level = static_cast<int>(setting("ancestor", 50));
  return answer(device, "topology");
}
Return nvmlDeviceGetP2PStatus(Device, Device, int caps, int* status) {
  *status = caps == nvml::kP2pOverNvLink && setting("nvlinks", 0) > 0 ? 0 : 1;
  return 0;
}
Return nvmlDeviceGetNvLinkState(Device device, unsigned number, int* active) {
  *active = static_cast<long>(number) < setting("nvlinks", 0) ? 1 : 0;
  return answer(device, "nvlink");
}
Return nvmlDeviceGetIndex(Device device, unsigned* index) {
  *index = static_cast<unsigned>(number_of(device));
  return 0;
}
#endif

}  // extern "C"
