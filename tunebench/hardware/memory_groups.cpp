// Control groups, version 2 (memory.max) and version 1 (memory.limit_in_bytes).
// Source: Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst.
#include <algorithm>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/hardware/internal/system_files.h"

namespace tunebench::hardware {
namespace {

/// Version 1 says "no limit" by the largest number of whole pages.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

struct GroupFiles {
  const char* limit;
  const char* usage;
  const char* cache;  ///< name in memory.stat of file pages that can be dropped
};
constexpr GroupFiles kSecond{"memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles kFirst{"memory.limit_in_bytes", "memory.usage_in_bytes",
                            "total_inactive_file"};

std::int64_t whole_number_in(const std::filesystem::path& file) {
  return parse_int(trim(text_of(file))).value_or(0);
}

void lower(std::optional<std::int64_t>& least, std::int64_t value) {
  least = std::min(least.value_or(value), value);
}

void look_at(MemoryGroups& groups, const std::filesystem::path& folder, const GroupFiles& files) {
  const std::optional<std::int64_t> limit = parse_int(trim(text_of(folder / files.limit)));
  if (!limit || *limit <= 0 || *limit >= kNoLimit) {
    return;
  }
  const std::optional<std::string> cache =
      value_of(text_of(folder / "memory.stat"), files.cache, ' ');
  const std::int64_t dropped = cache ? parse_int(*cache).value_or(0) : 0;
  const std::int64_t used =
      std::max<std::int64_t>(0, whole_number_in(folder / files.usage) - dropped);
  lower(groups.limit_bytes, *limit);
  lower(groups.free_bytes, std::max<std::int64_t>(0, *limit - used));
}

/// The mount, which inside a container is the container's own group, and every group on the way
/// down to the named one.
void look_along(MemoryGroups& groups, const std::filesystem::path& mount, std::string_view group,
                const GroupFiles& files) {
  std::filesystem::path folder = mount;
  look_at(groups, folder, files);
  for (const std::string& name : split(group, '/')) {
    if (name == "..") {
      return;
    }
    if (!name.empty()) {
      folder /= name;
      look_at(groups, folder, files);
    }
  }
}

}  // namespace

std::string text_of(const std::filesystem::path& file) {
  try {
    return read_file(file);
  } catch (const Error&) {
    return {};
  }
}

std::optional<std::string> value_of(std::string_view text, std::string_view name, char separator) {
  for (const std::string& line : split(text, '\n')) {
    const std::size_t end = line.find(separator);
    if (end != std::string::npos && trim(std::string_view(line).substr(0, end)) == name) {
      return std::string(trim(std::string_view(line).substr(end + 1)));
    }
  }
  return std::nullopt;
}

MemoryGroups memory_groups(const std::filesystem::path& root) {
  MemoryGroups groups;
  for (const std::string& line : split(text_of(root / "proc/self/cgroup"), '\n')) {
    // hierarchy-number:controllers:group
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::vector<std::string> controllers =
        split(std::string_view(line).substr(first + 1, second - first - 1), ',');
    const std::string_view group = std::string_view(line).substr(second + 1);
    if (line.substr(0, first) == "0") {
      look_along(groups, root / "sys/fs/cgroup", group, kSecond);
      look_along(groups, root / "sys/fs/cgroup/unified", group, kSecond);
    } else if (std::ranges::find(controllers, "memory") != controllers.end()) {
      look_along(groups, root / "sys/fs/cgroup/memory", group, kFirst);
    }
  }
  return groups;
}

}  // namespace tunebench::hardware
