#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tunebench/base/clock.h"
#include "tunebench/campaign/plan.h"
#include "tunebench/campaign/staleness.h"
#include "tunebench/measure/measure.h"
#include "tunebench/record/record.h"
#include "tunebench/store/store.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::campaign {

/// Which measurement of a plan is meant.
struct Position {
  std::int64_t number = 0;  ///< 1-based, reused ones counted
  std::int64_t total = 0;
  const PlannedPoint* point = nullptr;
  std::int64_t round = 1;
  std::int64_t attempt = 1;
};

/// What all that is left waits for.
struct Waiting {
  std::int64_t points = 0;  ///< that other runs measure now
  std::string run;          ///< one of these runs
  std::string host;         ///< of that run
};

/// Told what happens, in the thread that runs the campaign.
class Observer {
 public:
  virtual ~Observer() = default;
  /// The run exists; `reused` of its measurements are linked already. `kept`: those that it made
  /// itself before it was interrupted.
  virtual void started(const store::Run& run, std::int64_t reused, std::int64_t kept) = 0;
  /// There are results that are not, or not without a word, reused.
  virtual void stale(const StaleResults& /*results*/) {}
  /// Called again and again while nothing can be done.
  virtual void waiting(const Waiting& /*waiting*/) {}
  virtual void measuring(const Position& position) = 0;
  /// seconds_left is that of the whole run; 0: not known.
  virtual void progress(const Position& position, const measure::Progress& progress,
                        double seconds_left) = 0;
  /// The record is stored. `again`: the point is tried once more.
  virtual void measured(const Position& position, const record::Record& record, bool again) = 0;
};

/// How a campaign ended.
struct Result {
  std::string run;
  bool interrupted = false;
  std::int64_t measured = 0;  ///< valid measurements made now
  std::int64_t reused = 0;
  std::int64_t kept = 0;            ///< made by this run before it was interrupted
  bool stopped_by_request = false;  ///< interrupted through the store: tunebench stop
  std::string end_reason = {};      ///< JSON text of a search that ended by itself; as it is stored
  StaleResults stale = {};
  std::int64_t failed_points = 0;  ///< points without any valid measurement
  std::int64_t valid_points = 0;
};

/// What a campaign works with; all of it outlives the call.
struct Tools {
  store::Store& store;
  trainer::Trainer& trainer;
  Clock& clock;
  measure::StopFlag& stop;
  std::filesystem::path log_folder;             ///< made when the first measurement starts
  std::string command;                          ///< as typed, secrets masked, for the run's row
  std::optional<measure::IdleRules> idle = {};  ///< what to do when the machine is busy; absent:
                                                ///< nobody looks
  std::string store_location = {};  ///< of `store`, as given to open_store, for the heartbeat;
                                    ///< empty: none, and the run counts as alive while its process
                                    ///< does
  std::string plan_text = {};       ///< Run::plan of a new run
  std::string resume = {};          ///< the run to go on with; empty: a new one
};

/// True when trying the same point again may end otherwise: a child that crashed, was killed, or
/// met an error of input and output, CUDA or NCCL. Not for what ran out of memory or time or is
/// invalid.
bool worth_another_try(const record::Record& record);
/// Attempts at one repeat in all.
inline constexpr std::int64_t kMostAttempts = 3;

/// Measures what the store does not know yet. Every record is stored before the next measurement
/// starts. Order: rounds over the points, so that drift of the machine spreads over all of them.
/// What is worth another try gets up to three attempts, after pauses of 0.5 s and 2 s; a point that
/// failed for good is left alone in later rounds. In a stability experiment nothing is tried again
/// and every run counts, however it ended, but interrupted ones. A point is claimed
/// before it is measured, so that runs with one plan share the work; when all that is left is
/// measured by others it waits and takes over what they leave.
/// Errors: those of the store and of starting a child.
Result run_campaign(const Plan& plan, const Tools& tools, Observer& observer);

}  // namespace tunebench::campaign
