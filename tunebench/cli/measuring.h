#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tunebench/campaign/campaign.h"
#include "tunebench/campaign/stored_plan.h"
#include "tunebench/cli/asked.h"
#include "tunebench/cli/command.h"

namespace tunebench::cli {

/// A checked plan and what it is measured with.
struct Wanted {
  Asked asked;
  campaign::Plan plan;
  std::optional<double> price = {};
  std::string location = {};   ///< of the store
  std::string plan_text = {};  ///< store::Run::plan
  std::string resume = {};     ///< a run to go on with; empty: a new one
  std::string command = {};    ///< as typed, secrets masked
};

/// Everything that can be wrong with what the user gave is found and told here, before a file is
/// touched; then the result is empty. `stored`: the texts of files come from there.
std::optional<Wanted> prepare(const Invocation& invocation, const campaign::StoredPlan* stored,
                              Console& console);

/// Measures what is wanted, shows progress and result, returns the exit code. `started` is told the
/// name of the run as soon as it exists.
int measure(const Wanted& wanted, bool quiet, Console& console,
            const std::function<void(const std::string&)>& started = {});

/// The command line of `run` for stored words.
Invocation invocation_of(const std::vector<std::string>& words);

/// "brisk-otter was interrupted 6 min ago after 7 of 12 measurements (all 7 saved). Continue: ...":
/// for each run that was found dead now.
std::vector<std::string> dead_run_lines(store::Store& store, const std::string& but = "");

/// A file's location does not depend on the working folder; a URL is as it is.
std::string absolute_location(const std::string& location);

/// What a run's records say as an exit code: 0, 2 or 3, as `run` tells it at its end.
int exit_code_of(const store::Run& run, const std::vector<store::RunRecord>& records);

}  // namespace tunebench::cli
