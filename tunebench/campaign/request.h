#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/json.h"
#include "tunebench/experiment/experiment.h"
#include "tunebench/space/space.h"

namespace tunebench::campaign {

/// What a search is to make large or small.
struct Objective {
  std::string metric;  ///< a record field
  bool maximize = true;
};

/// How points are chosen.
struct SearchRequest {
  std::string method = "grid";       ///< one of search_methods()
  Json parameters = Json::object();  ///< checked: seed, startup, grouping, ...
  std::vector<Objective> objectives = {};
  std::string where = {};  ///< "plan.yaml:12:3", for messages
};

/// A rule of the reference system that ends a search, by its name there.
struct NamedStopper {
  std::string name;  ///< SimpleStopper
  Json parameters = Json::object();
  std::string where = {};
};

/// When a run ends before all its points are measured. Absent: never.
struct StopRequest {
  std::optional<std::int64_t> points = {};
  std::optional<double> time_s = {};
  std::optional<double> cost = {};
  std::optional<std::int64_t> no_improvement = {};  ///< so many points without a better one
  std::optional<double> interval = {};  ///< half the 95 % interval, as a share of the mean
  std::vector<NamedStopper> stoppers = {};
  std::string where = {};
};

/// What the run is compared with when it is done.
struct CompareRequest {
  std::string baseline;              ///< a run or the name of a baseline
  std::vector<std::string> by = {};  ///< inputs that join the points; empty: all
  std::string where = {};
};

/// "tokens_per_s < -3%": a change that makes the run fail.
struct GateRequest {
  std::string text;
  std::string where = {};
};

/// What to measure, as the user asked for it.
struct Request {
  const experiment::Experiment* experiment = nullptr;
  std::vector<experiment::GivenValues> given;
  /// Absent: three for several points, one for a single point.
  std::optional<std::int64_t> repeats = {};
  std::optional<double> until = {};
  std::int64_t most_repeats = 10;
  std::optional<std::uint64_t> order_seed = {};
  bool fresh = false;                          ///< measure also what is known
  bool force = false;                          ///< start also what does not fit into memory
  bool accept_stale = false;                   ///< reuse also results of other conditions
  std::optional<std::int64_t> max_age_s = {};  ///< of results to reuse
  std::string max_age_text = {};               ///< as the user wrote it
  std::optional<double> timeout_s = {};  ///< per measurement; absent: from the work of the point

  /// Several experiments over one space, with inputs of their own; empty: `experiment` alone.
  std::vector<space::ExperimentChoice> experiments = {};
  std::vector<space::RuleText> rules = {};
  /// A point that breaks a rule between its inputs is recorded as invalid_config instead of being
  /// a mistake of the plan.
  bool keep_invalid = false;
  SearchRequest search = {};
  std::optional<double> price =
      {};  ///< of an hour of one GPU, or of the machine; for StopRequest::cost
  StopRequest stop = {};
  std::optional<CompareRequest> compare = {};
  std::vector<GateRequest> fail_if = {};
};

/// The space of a request. All mistakes are told; nullopt with one.
std::optional<space::Space> space_of(const Request& request, Diagnostics& problems);

/// Reads the rules only: what can be told of a request whose inputs are not all known.
void check_rule_texts(const Request& request, Diagnostics& problems);

/// Gates need a run to judge against.
void check_gates(const Request& request, Diagnostics& problems);

}  // namespace tunebench::campaign
