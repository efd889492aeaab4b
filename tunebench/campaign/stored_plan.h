#pragma once

#include <map>
#include <string>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/campaign/plan.h"
#include "tunebench/store/store.h"

namespace tunebench::campaign {

/// What a store keeps of a plan, so that anybody can go on with its run: Run::plan.
struct StoredPlan {
  std::vector<std::string> words;            ///< of the command line, without the program
  std::string folder;                        ///< that relative paths in them begin at
  std::map<std::string, std::string> files;  ///< texts of plan files and models, by name in words
  std::string version;                       ///< of tunebench
  bool has_secrets = false;                  ///< a word was left out, so that it cannot be repeated
  std::vector<Json> conditions = {};         ///< distinct ones of the points
  std::map<std::string, std::string> titles = {};  ///< of points by key; only of small plans
};

/// The words, with the rest taken from the plan and the program.
StoredPlan describe(const Plan& plan, std::vector<std::string> words, std::string folder,
                    std::map<std::string, std::string> files);

std::string to_text(const StoredPlan& plan);
/// Errors: InvalidInput when the run has none, as runs of older versions and imports; Corrupt when
/// it cannot be read.
StoredPlan stored_plan(const store::Run& run);

/// Sets RunRecord::stale of what the run reused although its conditions are not those of the plan.
void mark_stale(std::vector<store::RunRecord>& records, const store::Run& run);

}  // namespace tunebench::campaign
