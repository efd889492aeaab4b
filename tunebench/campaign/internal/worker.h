#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tunebench/campaign/campaign.h"
#include "tunebench/campaign/internal/point_state.h"
#include "tunebench/campaign/time_left.h"
#include "tunebench/store/heartbeat.h"

namespace tunebench::campaign {

/// How a turn at a point went.
enum class Turn {
  Measured,  ///< one more result of this run is in the store
  Known,     ///< the store knew what was missing
  Held,      ///< another run measures it
  Stopped,   ///< the user does not want to wait
};

/// Does for one run what every order of points needs: it keeps the run alive and claims a point
/// before it is measured, so that runs which share a store share the work.
class Worker {
 public:
  Worker(const Plan& plan, const Tools& tools, Observer& observer);

  /// Begins the run, or goes on with Tools::resume.
  store::Run begin(std::int64_t planned);
  /// What a resumed run has, in the order in which it came.
  [[nodiscard]] std::vector<store::RunRecord> records_before() const;
  /// Counts one of them.
  void take_back(PointState& state, const store::RunRecord& one, std::int64_t times = 1);
  void started(const store::Run& run);

  /// Counts what the store knows of a point and this run has not seen, up to what is wanted, and
  /// adds the ids to `known`, to be linked.
  void find_known(const PlannedPoint& point, PointState& state, std::vector<std::string>& known,
                  std::int64_t times = 1);
  void link(const std::vector<std::string>& known);

  /// Measures the point once, with further attempts where they may help, unless it is known by now
  /// or held by another run. `remaining`: the measurements to come, the running one included.
  using Remaining = std::function<std::vector<const PlannedPoint*>()>;
  Turn take_turn(const PlannedPoint& point, PointState& state, const Remaining& remaining,
                 std::int64_t times = 1);

  /// Tells who is waited for and lets a moment pass.
  void wait(std::int64_t held);

  /// Somebody asked to stop, here or through the store.
  bool stopping();
  /// `reason`: JSON text, kept with the run; empty: none but an interrupt.
  Result end(const std::string& reason = "");

  /// What turns brought since the last call, in order; with `collects` only.
  std::vector<record::Record> take_new_records() { return std::exchange(new_records_, {}); }
  bool collects = false;

  std::int64_t left = 0;  ///< measurements still wanted of this run
  Result result;

 private:
  Turn measure(const PlannedPoint& point, PointState& state, const Remaining& remaining,
               std::int64_t times);
  record::Record attempt(const Position& position, const Remaining& remaining);
  void pause(std::chrono::nanoseconds duration);
  [[nodiscard]] bool knows_now(const PlannedPoint& point, PointState& state, std::int64_t times);
  [[nodiscard]] bool claim(const PlannedPoint& point);
  void live();
  void go_on_when_lost();

  const Plan& plan_;
  const Tools& tools_;
  Observer& observer_;
  std::unique_ptr<store::Heartbeat> heartbeat_;
  TimeLeft time_left_;
  store::Claim held_by_;
  std::vector<record::Record> new_records_;
  std::int64_t done_ = 0;
};

}  // namespace tunebench::campaign
