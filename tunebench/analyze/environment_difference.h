#pragma once

#include <string>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/record/record.h"

namespace tunebench::analyze {

/// One line for each member that differs: "driver: 550.90 -> 570.86". Members of members are named
/// "gpus[0].uuid", an absent or null one is "-". What changes from minute to minute (free memory)
/// is left out.
std::vector<std::string> environment_differences(const Json& a, const Json& b);

/// The same for the line above a comparison: "driver 550.90 -> 570.86", "power limit 700 -> 600 W"
/// (once, when all GPUs say so), driver, CUDA and GPUs first.
std::vector<std::string> environment_changes(const Json& a, const Json& b);

/// What computed: "NVIDIA H200 (140 GiB)", or "AMD EPYC, 2 cores" without a GPU in use. Results of
/// different hardware are compared only when asked for.
std::string hardware_name(const record::Record& record);

}  // namespace tunebench::analyze
