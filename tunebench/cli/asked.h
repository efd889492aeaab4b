#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/campaign/plan.h"
#include "tunebench/cli/command.h"
#include "tunebench/measure/idle.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::cli {

/// What a command line and its plan files ask to measure, and what measures it.
struct Asked {
  config::CommandLine line;  ///< with the options of the files
  campaign::Request request;
  campaign::Machine machine;
  measure::IdleRules idle = {};
  std::unique_ptr<trainer::Trainer> trainer;
  bool files_are_wrong = false;         ///< then `request` lacks what they should have said
  std::vector<std::string> notes = {};  ///< what the files say and nobody reads
};

/// The options of `run` and `plan`: those of run_options(), rules, and all inputs.
std::vector<config::OptionSpec> asking_options();

/// Reads files and options; every mistake is told, and reading goes on with legal values.
Asked ask(const Invocation& invocation, Diagnostics& problems);

/// All mistakes, with the lines of plan files, and where to look.
void print_plan_problems(Console& console, const Invocation& invocation,
                         const Diagnostics& problems);

/// --save-plan: the file that means the same as the command line. Returns the exit code.
int save_plan(const Asked& asked, const std::string& file, Console& console);

}  // namespace tunebench::cli
