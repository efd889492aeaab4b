#pragma once

#include <memory>

#include "tunebench/cli/command.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

/// What the commands that read results have in common.

/// Opens an existing store and sets right the status of runs whose process is gone.
std::unique_ptr<store::Store> open_for_reading(const config::CommandLine& line);

config::OptionSpec simulated_option();

}  // namespace tunebench::cli
