#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "tunebench/base/clock.h"
#include "tunebench/trainer/simulation.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {

/// `program simulate JOB MODEL` as a child, which plays the model in real time; `program` empty:
/// own_executable(). Its version holds the hash of the model, so that another model is another
/// reuse key.
std::unique_ptr<Trainer> make_simulated_trainer(Simulation simulation,
                                                std::filesystem::path program = {});

/// The same without a process: what would be waiting moves `clock`. For thousands of runs with a
/// fake clock; time_scale does not matter. The clock must outlive the trainer.
std::unique_ptr<Trainer> make_simulated_trainer(Simulation simulation, Clock& clock);

/// The worker behind `tunebench simulate JOB MODEL`. Returns the exit code, or ends the process in
/// another way when the model says so.
/// Errors: those of parse_job and parse_simulation.
int run_simulated_worker(const std::string& job_json, const std::string& simulation_json);

}  // namespace tunebench::trainer
