#pragma once

#include <string>
#include <vector>

#include "tunebench/cli/console.h"
#include "tunebench/config/command_line.h"
#include "tunebench/experiment/property.h"

namespace tunebench::cli {

/// A command line that fits its command.
struct Invocation {
  config::CommandLine line;
  std::vector<std::string> words;  ///< as typed, without the program
  Diagnostics problems = {};       ///< mistakes in the options; only run goes on with them, to find
                                   ///< all others too
  [[nodiscard]] bool json() const { return line.has("json"); }
};

/// One command: what it takes and what it does. The handler returns the exit code.
struct Command {
  config::CommandSpec spec;
  int (*handler)(const Invocation&, Console&) = nullptr;
};

/// All commands, in the order of the help. A new command is a new function here.
std::vector<Command> all_commands();

Command run_command();
Command plan_command();
Command resume_command();
Command rerun_command();
Command watch_command();
Command stop_command();
Command runs_command();
Command stale_command();
Command show_command();
Command export_command();
Command baseline_command();
Command baseline_set_command();
Command compare_command();
Command pareto_command();
Command best_command();
Command experiments_command();
Command inputs_command();
Command metrics_command();
Command models_command();
Command models_import_command();
Command datasets_command();
Command datasets_make_command();
Command datasets_count_command();
Command tokenize_command();
Command train_command();
Command simulate_command();
Command roof_command();
Command env_command();
Command env_diff_command();
Command logs_command();
Command import_command();
Command tag_command();
Command untag_command();
Command rm_command();
Command undo_command();
Command gc_command();
Command check_command();
Command baseline_list_command();
Command baseline_rm_command();
Command trainers_command();
Command envs_command();
Command envs_list_command();
Command envs_make_command();
Command envs_check_command();
Command envs_rm_command();

/// What an input may be; of more than `most` words only the first few.
std::string short_domain(const experiment::Property& property, std::size_t most);

config::OptionSpec json_option();
config::OptionSpec store_option();

/// A whole number of at least `lowest` given for an option, or `otherwise`.
std::int64_t integer_option(const config::CommandLine& line, std::string_view name,
                            std::int64_t otherwise, std::int64_t lowest, Diagnostics& problems);

}  // namespace tunebench::cli
