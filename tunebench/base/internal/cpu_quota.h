#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

namespace tunebench {

/// CPUs' worth of time that control groups allow, the least of a process's group and those above
/// it; nullopt without a limit.
///
/// `mount` is where the groups are seen (/sys/fs/cgroup), `membership` the text of
/// /proc/self/cgroup. Both versions of control groups are read.
std::optional<double> cpu_quota(const std::filesystem::path& mount, std::string_view membership);

}  // namespace tunebench
