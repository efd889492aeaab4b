#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tunebench/analyze/selection.h"
#include "tunebench/cli/command.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

/// What the commands that read results have in common.

/// Opens an existing store, sets right the status of runs whose process is gone, and tells which.
std::unique_ptr<store::Store> open_for_reading(const config::CommandLine& line, Console& console);

config::OptionSpec simulated_option();
/// Leaves out what trainer simulated made unless --simulated was given, and says so.
void keep_measured(std::vector<store::RunRecord>& records, const Invocation& invocation,
                   Console& console);

/// Sets the cost of each record when there is a price.
void add_cost(std::vector<store::RunRecord>& records, std::optional<double> price);

/// --where, --sort, --group-by, --top: which rows, and in which order.
std::vector<config::OptionSpec> selection_options();
/// True when one of them was given.
bool has_selection(const config::CommandLine& line);
/// What they say of rows with these columns; all mistakes are told, nullopt when there is one.
std::optional<analyze::Selection> selection_of(const config::CommandLine& line, const Json& columns,
                                               Diagnostics& problems);

/// Prints all mistakes and where help is; true when there is one.
bool tell_mistakes(const Diagnostics& problems, const Invocation& invocation, Console& console);

/// Records of the named run, or of all runs when there is no name.
std::vector<store::RunRecord> records_named(const store::Store& store,
                                            const std::optional<std::string>& run);

}  // namespace tunebench::cli
