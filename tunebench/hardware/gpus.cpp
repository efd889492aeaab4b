#include <algorithm>
#include <map>

#include "tunebench/base/text.h"
#include "tunebench/hardware/host.h"
#include "tunebench/hardware/internal/system_files.h"

namespace tunebench::hardware {
namespace {

/// Names of the entries of a folder, none when it cannot be read.
std::vector<std::string> entries_of(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  std::filesystem::directory_iterator entry(folder, failure);
  while (!failure && entry != std::filesystem::directory_iterator()) {
    names.push_back(entry->path().filename().string());
    entry.increment(failure);
  }
  return names;
}

/// Device nodes by minor number: /dev/nvidia0, /dev/nvidia1, ... A container has only those that
/// it was given, while the driver's folder in /proc always shows all.
std::vector<std::int64_t> device_nodes(const std::filesystem::path& root) {
  constexpr std::string_view kPrefix = "nvidia";
  std::vector<std::int64_t> minors;
  for (const std::string& name : entries_of(root / "dev")) {
    if (!name.starts_with(kPrefix)) {
      continue;
    }
    if (const std::optional<std::int64_t> minor =
            parse_int(std::string_view(name).substr(kPrefix.size()))) {
      minors.push_back(*minor);
    }
  }
  std::ranges::sort(minors);
  return minors;
}

/// What the driver says of each GPU, by minor number.
std::map<std::int64_t, Gpu> driver_entries(const std::filesystem::path& root) {
  const std::filesystem::path folder = root / "proc/driver/nvidia/gpus";
  std::map<std::int64_t, Gpu> gpus;
  for (const std::string& bus_address : entries_of(folder)) {
    const std::string text = text_of(folder / bus_address / "information");
    const std::optional<std::int64_t> minor =
        parse_int(value_of(text, "Device Minor", ':').value_or(""));
    if (minor) {
      gpus[*minor] = {value_of(text, "Model", ':').value_or("NVIDIA GPU"),
                      value_of(text, "GPU UUID", ':').value_or("")};
    }
  }
  return gpus;
}

/// The index that one entry of CUDA_VISIBLE_DEVICES means.
std::optional<std::size_t> index_of(const std::vector<Gpu>& gpus, std::string_view entry) {
  if (const std::optional<std::int64_t> number = parse_int(entry)) {
    const bool exists = *number >= 0 && static_cast<std::size_t>(*number) < gpus.size();
    return exists ? std::optional<std::size_t>(static_cast<std::size_t>(*number)) : std::nullopt;
  }
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    if (!entry.empty() && gpus[i].uuid.starts_with(entry)) {
      if (found) {
        return std::nullopt;
      }
      found = i;
    }
  }
  return found;
}

}  // namespace

std::vector<Gpu> find_gpus(const std::filesystem::path& root,
                           std::optional<std::string_view> visible) {
  const std::map<std::int64_t, Gpu> known = driver_entries(root);
  std::vector<Gpu> gpus;
  for (const std::int64_t minor : device_nodes(root)) {
    const auto entry = known.find(minor);
    gpus.push_back(entry == known.end() ? Gpu{"NVIDIA GPU", ""} : entry->second);
  }
  if (!visible) {
    return gpus;
  }
  std::vector<Gpu> narrowed;
  for (const std::string& entry : split(*visible, ',')) {
    const std::optional<std::size_t> index = index_of(gpus, trim(entry));
    if (!index) {
      break;
    }
    narrowed.push_back(gpus[*index]);
  }
  return narrowed;
}

}  // namespace tunebench::hardware
