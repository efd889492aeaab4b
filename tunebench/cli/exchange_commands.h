#pragma once

#include "tunebench/cli/command.h"

namespace tunebench::cli {

/// export --bundle FILE [RUN...]
int export_bundle(const Invocation& invocation, Console& console);

}  // namespace tunebench::cli
