#pragma once

#include <string>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::cli {

/// All that may explain that two measurements differ: the machine, this program and how it was
/// built, the trainer, the libraries as they are at run time. Part of every record.
Json environment_now(const trainer::Trainer& trainer);

/// One line for each member that differs: "driver: 550.90 -> 570.86". Members of members are named
/// "gpus[0].uuid", an absent or null one is "-". What changes from minute to minute (free memory)
/// is left out.
std::vector<std::string> environment_differences(const Json& a, const Json& b);

}  // namespace tunebench::cli
