#pragma once

#include <string_view>

namespace tunebench::trainer {

/// Kills what a child has left behind outside of its process group: launchers give each rank a
/// session of its own. Found are this user's processes that have `entry` ("NAME=value") in the
/// environment that they were started with; this process is never one. Returns how many there were.
/// What cannot be read is skipped. Source: proc(5), /proc/PID/environ.
int kill_processes_with(std::string_view entry);

}  // namespace tunebench::trainer
