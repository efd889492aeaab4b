#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace tunebench::measure {

/// How often the kernel's memory killer has ended a process of this process's memory cgroup
/// (oom_kill of memory.events, or of memory.oom_control in cgroup version 1). nullopt where the
/// system does not tell.
std::optional<std::int64_t> memory_kills(const std::filesystem::path& root = "/");

}  // namespace tunebench::measure
