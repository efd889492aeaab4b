#include "tunebench/base/internal/cpu_quota.h"

#include <algorithm>
#include <string>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench {
namespace {

/// The words of a small file, none when it cannot be read: a file that is absent sets no limit.
std::vector<std::string> words_of(const std::filesystem::path& path) {
  try {
    return split(trim(read_file(path)), ' ');
  } catch (const Error&) {
    return {};
  }
}

std::optional<double> ratio(const std::vector<std::string>& words) {
  if (words.size() != 2) {
    return std::nullopt;
  }
  const std::optional<std::int64_t> quota = parse_int(words[0]);  // "max" or -1: no limit
  const std::optional<std::int64_t> period = parse_int(words[1]);
  if (!quota || !period || *quota <= 0 || *period <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> quota_of_folder(const std::filesystem::path& folder) {
  if (const std::optional<double> second = ratio(words_of(folder / "cpu.max"))) {
    return second;
  }
  std::vector<std::string> first = words_of(folder / "cpu.cfs_quota_us");
  for (const std::string& word : words_of(folder / "cpu.cfs_period_us")) {
    first.push_back(word);
  }
  return ratio(first);
}

void lower(std::optional<double>& least, std::optional<double> value) {
  if (value && (!least || *value < *least)) {
    least = value;
  }
}

/// The group itself and all above it. Inside a container the named group may not be visible; the
/// mount then shows the container's own group.
void lower_along(std::optional<double>& least, const std::filesystem::path& mount,
                 std::string_view group) {
  std::filesystem::path folder = mount;
  lower(least, quota_of_folder(folder));
  for (const std::string& name : split(group, '/')) {
    if (name == "..") {
      return;
    }
    if (!name.empty()) {
      folder /= name;
      lower(least, quota_of_folder(folder));
    }
  }
}

}  // namespace

std::optional<double> cpu_quota(const std::filesystem::path& mount, std::string_view membership) {
  std::optional<double> least;
  for (const std::string& line : split(membership, '\n')) {
    // hierarchy-number:controllers:group
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    const std::vector<std::string> names = split(controllers, ',');
    if (controllers.empty()) {
      lower_along(least, mount, group);
    } else if (std::find(names.begin(), names.end(), "cpu") != names.end()) {
      lower_along(least, mount / controllers, group);
      lower_along(least, mount / "cpu", group);
    }
  }
  return least;
}

}  // namespace tunebench
