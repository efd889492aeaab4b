#pragma once

#include <filesystem>

#include "tunebench/base/json.h"
#include "tunebench/hardware/gpu_monitor.h"

namespace tunebench::hardware {

/// What of this machine may explain that two measurements differ: host_json, topology (sockets,
/// physical cores, NUMA nodes), CPU quota of the control groups, C library, GPUs with their driver,
/// and variables. Members that the system does not tell are null or empty.
/// `root` as for read_host; `gpus` nullptr: no driver.
Json machine_environment(const GpuMonitor* gpus, const std::filesystem::path& root = "/");

/// Environment variables that change how training runs, by an allow-list: no other variable is ever
/// read into a record. Values are masked as mask_secrets does.
Json allowed_variables();

}  // namespace tunebench::hardware
