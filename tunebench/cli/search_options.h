#pragma once

#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/campaign/request.h"
#include "tunebench/config/command_line.h"

namespace tunebench::cli {

/// --search, --optimize, --max-points, --search-seed and --stop-...: what the keys search, optimize
/// and stop of a plan say.
std::vector<config::OptionSpec> search_options();

/// Reads them; mistakes are told.
void read_search_options(const config::CommandLine& line, campaign::Request& request,
                         Diagnostics& problems);

}  // namespace tunebench::cli
