#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tunebench/hardware/gpu_monitor.h"

namespace tunebench::hardware {

/// What of GPUs and their driver makes measurements comparable. Texts are empty where the driver
/// does not tell.
struct GpuClass {
  std::string hardware_class;  ///< "gpu:NVIDIA H200:140 GiB:2:NV18": model, memory, count, link
  std::string driver;          ///< major version: "570"
  std::string cuda;            ///< major version: "13"
  std::string mig;  ///< profile of the slices, "1g.18gb"; "on" when only the mode is known
};

/// The classes of the first 1, 2, ... of the devices that `visible` (CUDA_VISIBLE_DEVICES; nullptr:
/// all) leaves. Of several devices the slowest link stands in the class; different models or sizes
/// are all named. Errors: those of GpuMonitor::resolve_visible.
std::vector<GpuClass> gpu_classes(const GpuMonitor& monitor, const char* visible);

/// The same of this machine and environment; empty without a driver.
std::vector<GpuClass> gpu_classes();

/// "570.86.15" -> "570"
std::string major_version(std::string_view version);

}  // namespace tunebench::hardware
