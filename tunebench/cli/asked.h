#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/campaign/plan.h"
#include "tunebench/campaign/stored_plan.h"
#include "tunebench/cli/command.h"
#include "tunebench/measure/idle.h"
#include "tunebench/trainer/trainer_set.h"

namespace tunebench::cli {

/// What a command line and its plan files ask to measure, and what measures it.
struct Asked {
  config::CommandLine line;  ///< with the options of the files
  campaign::Request request;
  campaign::Machine machine;
  std::optional<measure::IdleRules> idle = {};  ///< absent: nobody looks whether it is idle
  std::unique_ptr<trainer::TrainerSet> trainer;
  bool files_are_wrong = false;         ///< then `request` lacks what they should have said
  std::vector<std::string> notes = {};  ///< what the files say and nobody reads
  /// Texts of plan files and of the model that is played, by name on the command line.
  std::map<std::string, std::string> files = {};
};

/// The options of `run` and `plan`: those of run_options(), rules, and all inputs.
std::vector<config::OptionSpec> asking_options();

/// Reads files and options; every mistake is told, and reading goes on with legal values. `stored`:
/// the files are as they were when the run was begun.
Asked ask(const Invocation& invocation, Diagnostics& problems,
          const campaign::StoredPlan* stored = nullptr);

/// What measures here, and where.
campaign::Machine this_machine(const trainer::Trainer& trainer);

/// All mistakes, with the lines of plan files, and where to look.
void print_plan_problems(Console& console, const Invocation& invocation,
                         const Diagnostics& problems);

/// --save-plan: the file that means the same as the command line. Returns the exit code.
int save_plan(const Asked& asked, const std::string& file, Console& console);

}  // namespace tunebench::cli
