#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "tunebench/cli/console.h"

namespace tunebench::cli {

/// To be called with the name of the run as soon as it exists.
using Started = std::function<void(const std::string&)>;

/// Runs `body` in a process in a session of its own, which no terminal ends; what it says goes to
/// FOLDER/<run>.out. Returns once the run exists, 0, its name told on `console`; or with the exit
/// code of the body and what it said when it ended before. No thread may run but the caller's.
/// Errors: Io.
int run_detached(const std::filesystem::path& folder, Console& console,
                 const std::function<int(Console&, const Started&)>& body);

}  // namespace tunebench::cli
