#pragma once

#include <string>
#include <vector>

#include "tunebench/experiment/experiment.h"
#include "tunebench/hardware/gpu_monitor.h"

namespace tunebench::measure {

/// The GPUs that a point uses, as far as they can be looked at.
struct PointGpus {
  const hardware::GpuMonitor* monitor = nullptr;
  std::vector<int> devices;  ///< the first number_gpus of those that CUDA_VISIBLE_DEVICES leaves
  std::string missing;       ///< why fewer than number_gpus can be looked at

  [[nodiscard]] std::vector<hardware::GpuIdentity> identities() const;
};

/// `given` nullptr: the driver of this machine, asked for only when the point uses a GPU.
/// Errors: InvalidInput when CUDA_VISIBLE_DEVICES names a device that is not there.
PointGpus find_point_gpus(const experiment::Point& point, const hardware::GpuMonitor* given);

}  // namespace tunebench::measure
