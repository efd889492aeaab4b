#include "tunebench/measure/memory_killer.h"

#include <fstream>
#include <string>
#include <vector>

#include "tunebench/base/text.h"

namespace tunebench::measure {
namespace {

std::optional<std::int64_t> oom_kill_of(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string key;
  std::string value;
  while (stream >> key >> value) {
    if (key == "oom_kill") {
      return parse_int(value);
    }
  }
  return std::nullopt;
}

/// A container may see the path of the host in /proc/self/cgroup but only its own cgroup under
/// /sys/fs/cgroup, so the top of the tree is tried too.
std::optional<std::int64_t> first_of(const std::filesystem::path& top, const std::string& own_path,
                                     const char* name) {
  const std::filesystem::path own = std::filesystem::path(own_path).relative_path();
  const std::optional<std::int64_t> kills = oom_kill_of(top / own / name);
  return kills.has_value() ? kills : oom_kill_of(top / name);
}

}  // namespace

std::optional<std::int64_t> memory_kills(const std::filesystem::path& root) {
  const std::filesystem::path cgroups = root / "sys/fs/cgroup";
  std::ifstream own(root / "proc/self/cgroup");
  std::string line;
  std::optional<std::int64_t> unified;
  while (std::getline(own, line)) {
    // hierarchy:controllers:path
    const std::vector<std::string> parts = split(line, ':');
    if (parts.size() < 3) {
      continue;
    }
    if (parts[1] == "memory") {
      return first_of(cgroups / "memory", parts[2], "memory.oom_control");
    }
    if (parts[0] == "0" && parts[1].empty()) {
      unified = first_of(cgroups, parts[2], "memory.events");
    }
  }
  return unified;
}

}  // namespace tunebench::measure
