#pragma once

#include <cstdint>

/// The part of NVML's binary interface that is used, declared here because the library is opened
/// at run time. Source: NVML API reference, docs.nvidia.com/deploy/nvml-api (read 2026-12).
namespace tunebench::hardware::nvml {

using Device = void*;
using Return = int;

inline constexpr Return kSuccess = 0;
inline constexpr Return kNotSupported = 3;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kLibraryNotFound = 12;
inline constexpr Return kGpuIsLost = 15;

inline constexpr unsigned kUuidSize = 96;
inline constexpr unsigned kNameSize = 96;
inline constexpr unsigned kVersionSize = 96;
inline constexpr unsigned kTemperatureGpu = 0;
inline constexpr unsigned kClockSm = 1;
inline constexpr unsigned kClockMemory = 2;
inline constexpr unsigned long long kMemoryNotAvailable = ~0ULL;
inline constexpr int kP2pOverNvLink = 2;
inline constexpr int kP2pWorks = 0;
inline constexpr unsigned kMostNvLinks = 18;

struct Utilization {
  unsigned gpu;
  unsigned memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;
  unsigned gpu_instance;
  unsigned compute_instance;
};

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_id;
  unsigned subsystem_id;
  char bus_id[32];
};

/// Function pointers by their exported names; a null one is a function that the library lacks.
struct Api {
  Return (*nvmlInit_v2)() = nullptr;
  Return (*nvmlShutdown)() = nullptr;
  const char* (*nvmlErrorString)(Return) = nullptr;
  Return (*nvmlSystemGetDriverVersion)(char*, unsigned) = nullptr;
  Return (*nvmlSystemGetCudaDriverVersion_v2)(int*) = nullptr;
  Return (*nvmlDeviceGetCount_v2)(unsigned*) = nullptr;
  Return (*nvmlDeviceGetHandleByIndex_v2)(unsigned, Device*) = nullptr;
  Return (*nvmlDeviceGetHandleByUUID)(const char*, Device*) = nullptr;
  Return (*nvmlDeviceGetDeviceHandleFromMigDeviceHandle)(Device, Device*) = nullptr;
  Return (*nvmlDeviceGetIndex)(Device, unsigned*) = nullptr;
  Return (*nvmlDeviceGetUUID)(Device, char*, unsigned) = nullptr;
  Return (*nvmlDeviceGetName)(Device, char*, unsigned) = nullptr;
  Return (*nvmlDeviceGetVbiosVersion)(Device, char*, unsigned) = nullptr;
  Return (*nvmlDeviceGetMigMode)(Device, unsigned*, unsigned*) = nullptr;
  Return (*nvmlDeviceGetEccMode)(Device, unsigned*, unsigned*) = nullptr;
  Return (*nvmlDeviceGetEnforcedPowerLimit)(Device, unsigned*) = nullptr;
  Return (*nvmlDeviceGetUtilizationRates)(Device, Utilization*) = nullptr;
  Return (*nvmlDeviceGetMemoryInfo)(Device, Memory*) = nullptr;
  Return (*nvmlDeviceGetPowerUsage)(Device, unsigned*) = nullptr;
  Return (*nvmlDeviceGetTotalEnergyConsumption)(Device, unsigned long long*) = nullptr;
  Return (*nvmlDeviceGetTemperature)(Device, unsigned, unsigned*) = nullptr;
  Return (*nvmlDeviceGetClockInfo)(Device, unsigned, unsigned*) = nullptr;
  Return (*nvmlDeviceGetCurrentClocksThrottleReasons)(Device, unsigned long long*) = nullptr;
  Return (*nvmlDeviceGetComputeRunningProcesses_v3)(Device, unsigned*, ProcessInfo*) = nullptr;
  Return (*nvmlDeviceGetPciInfo_v3)(Device, PciInfo*) = nullptr;
  Return (*nvmlDeviceGetMaxPcieLinkGeneration)(Device, unsigned*) = nullptr;
  Return (*nvmlDeviceGetMaxPcieLinkWidth)(Device, unsigned*) = nullptr;
  Return (*nvmlDeviceGetTopologyCommonAncestor)(Device, Device, int*) = nullptr;
  Return (*nvmlDeviceGetP2PStatus)(Device, Device, int, int*) = nullptr;
  Return (*nvmlDeviceGetNvLinkState)(Device, unsigned, int*) = nullptr;
};

}  // namespace tunebench::hardware::nvml
