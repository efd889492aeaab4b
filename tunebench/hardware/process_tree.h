#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include <sys/types.h>

namespace tunebench::hardware {

/// What a process and all its descendants have used so far.
struct TreeUsage {
  double cpu_s = 0;  ///< user + system, with children that were waited for
  std::int64_t resident_bytes = 0;
  std::int64_t minor_faults = 0;
  std::int64_t major_faults = 0;
  std::int64_t processes = 0;  ///< alive; 0: the root is gone
};

/// Ids of `root` and its descendants that are alive, root first.
std::vector<pid_t> process_tree(pid_t root, const std::filesystem::path& proc = "/proc");

/// Sums over process_tree. Processes that end meanwhile are left out.
TreeUsage read_tree_usage(pid_t root, const std::filesystem::path& proc = "/proc");

}  // namespace tunebench::hardware
