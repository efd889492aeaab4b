#pragma once

#include <string>
#include <string_view>

#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {

/// The job as one line of JSON; the log file is the controller's and is left out.
std::string job_text(const Job& job);

/// Errors: InvalidInput or NotFound naming what is wrong with the text.
Job parse_job(std::string_view text);

}  // namespace tunebench::trainer
