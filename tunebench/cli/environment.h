#pragma once

#include "tunebench/base/json.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::cli {

/// All that may explain that two measurements differ: the machine, this program and how it was
/// built, the trainer, the libraries as they are at run time. Part of every record.
Json environment_now(const trainer::Trainer& trainer);

}  // namespace tunebench::cli
