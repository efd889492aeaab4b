#include "tunebench/hardware/gpu_class.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "tunebench/base/text.h"

namespace tunebench::hardware {
namespace {

void add_distinct(std::vector<std::string>& texts, std::string text) {
  if (std::ranges::find(texts, text) == texts.end()) {
    texts.push_back(std::move(text));
  }
}

/// Smaller is slower; NVLinks by their number, what is not known last.
int speed_of(const std::string& link) {
  constexpr std::array<std::string_view, 5> kPaths{"SYS", "NODE", "PHB", "PXB", "PIX"};
  constexpr int kNvLink = 100;
  const auto* path = std::ranges::find(kPaths, link);
  if (path != kPaths.end()) {
    return static_cast<int>(path - kPaths.begin());
  }
  if (link.starts_with("NV")) {
    return kNvLink + static_cast<int>(parse_int(std::string_view(link).substr(2)).value_or(0));
  }
  return kNvLink * kNvLink;
}

std::string slowest_link(const GpuMonitor& monitor, const std::vector<int>& devices) {
  std::optional<std::string> slowest;
  for (std::size_t first = 0; first < devices.size(); ++first) {
    for (std::size_t second = first + 1; second < devices.size(); ++second) {
      const std::string link = monitor.link(devices[first], devices[second]).value_or("");
      if (!slowest || speed_of(link) < speed_of(*slowest)) {
        slowest = link;
      }
    }
  }
  return slowest.value_or("");
}

std::string memory_text(const GpuIdentity& gpu) {
  // What a driver reserves differs by a few MiB between its versions.
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  return gpu.memory_bytes
             ? fmt::format("{} GiB", std::lround(static_cast<double>(*gpu.memory_bytes) / kGib))
             : "";
}

GpuClass class_of(const GpuMonitor& monitor, const std::vector<int>& devices,
                  const std::vector<std::string>& words) {
  std::vector<std::string> models;
  std::vector<std::string> memories;
  std::vector<std::string> profiles;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const GpuIdentity& gpu = monitor.devices()[static_cast<std::size_t>(devices[i])];
    add_distinct(models, gpu.name);
    add_distinct(memories, memory_text(gpu));
    if (const std::string profile = monitor.mig_profile(words[i]); !profile.empty()) {
      add_distinct(profiles, profile);
    } else if (gpu.mig.value_or(false)) {
      add_distinct(profiles, "on");
    }
  }
  std::string text =
      fmt::format("gpu:{}:{}:{}", join(models, "+"), join(memories, "+"), devices.size());
  if (const std::string link = slowest_link(monitor, devices); !link.empty()) {
    text += ":" + link;
  }
  return {.hardware_class = std::move(text),
          .driver = major_version(monitor.driver_version()),
          .cuda = major_version(monitor.cuda_version()),
          .mig = join(profiles, "+")};
}

}  // namespace

std::vector<GpuClass> gpu_classes(const GpuMonitor& monitor, const char* visible) {
  std::vector<int> devices(monitor.devices().size());
  std::iota(devices.begin(), devices.end(), 0);
  std::vector<std::string> words(devices.size());
  if (visible != nullptr) {
    devices = monitor.resolve_visible(visible);
    words.clear();
    for (const std::string& word : split(visible, ',')) {
      words.emplace_back(trim(word));
    }
  }
  std::vector<GpuClass> classes;
  for (std::size_t count = 1; count <= devices.size(); ++count) {
    classes.push_back(class_of(
        monitor, {devices.begin(), devices.begin() + static_cast<std::ptrdiff_t>(count)}, words));
  }
  return classes;
}

std::vector<GpuClass> gpu_classes() {
  std::string no_driver;
  const GpuMonitor* monitor = system_gpus(no_driver);
  return monitor == nullptr ? std::vector<GpuClass>{}
                            : gpu_classes(*monitor, std::getenv("CUDA_VISIBLE_DEVICES"));
}

std::string major_version(std::string_view version) {
  return std::string(version.substr(0, version.find('.')));
}

}  // namespace tunebench::hardware
