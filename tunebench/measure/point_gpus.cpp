#include "tunebench/measure/point_gpus.h"

#include <cstdlib>
#include <numeric>

#include <fmt/format.h>

namespace tunebench::measure {

std::vector<hardware::GpuIdentity> PointGpus::identities() const {
  std::vector<hardware::GpuIdentity> found;
  for (const int device : devices) {
    found.push_back(monitor->devices()[static_cast<std::size_t>(device)]);
  }
  return found;
}

PointGpus find_point_gpus(const experiment::Point& point, const hardware::GpuMonitor* given) {
  PointGpus gpus;
  const auto number = point.inputs.find("number_gpus");
  if (number == point.inputs.end() || !number->second.is_int() || number->second.as_int() < 1) {
    return gpus;
  }
  const auto wanted = static_cast<std::size_t>(number->second.as_int());
  gpus.monitor = given == nullptr ? hardware::system_gpus(gpus.missing) : given;
  if (gpus.monitor == nullptr) {
    return gpus;
  }
  if (const char* visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    gpus.devices = gpus.monitor->resolve_visible(visible);
  } else {
    gpus.devices.resize(gpus.monitor->devices().size());
    std::iota(gpus.devices.begin(), gpus.devices.end(), 0);
  }
  if (gpus.devices.size() < wanted) {
    gpus.missing = fmt::format("the driver shows {} of {} GPUs", gpus.devices.size(), wanted);
  } else {
    gpus.devices.resize(wanted);
  }
  return gpus;
}

}  // namespace tunebench::measure
