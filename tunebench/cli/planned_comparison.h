#pragma once

#include <string>
#include <vector>

#include "tunebench/campaign/request.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/console.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

/// What a plan's `compare` and `fail_if` ask for when its run is done.
class PlannedComparison {
 public:
  /// Finds the baseline before anything is measured: what "@last" means changes with the new run.
  /// `location` is the store's. Errors: NotFound when there is neither a baseline nor a run of that
  /// name.
  PlannedComparison(const campaign::Request& request, const store::Store& store,
                    const std::string& location);

  /// The words of `tunebench compare` that compare this run. Empty: nothing was asked for.
  [[nodiscard]] std::vector<std::string> words(const store::Run& run) const;

  /// Compares and prints; its exit code, and with `json` the comparison instead of its text.
  int tell(const store::Run& run, Console& console, Json* json) const;

 private:
  std::vector<std::string> words_;
};

}  // namespace tunebench::cli
