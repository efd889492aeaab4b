#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/json.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::campaign {

/// How often each point is measured, and in which order.
struct Repeats {
  std::int64_t count = 1;  ///< valid measurements wanted per point
  /// More of them, up to `most`, until half the 95 % interval is at most this share of the mean.
  std::optional<double> until = {};
  std::int64_t most = 10;
  /// Each round goes over the points in an order drawn from this seed; absent: as planned.
  std::optional<std::uint64_t> order_seed = {};
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
  bool fresh = false;                    ///< measure also what is known
  bool force = false;                    ///< start also what does not fit into memory
  std::optional<double> timeout_s = {};  ///< per measurement; absent: from the work of the point
};

/// What measures, and where.
struct Machine {
  std::string trainer;
  std::string trainer_version;
  std::string hardware_class;     ///< part of the reuse key
  std::int64_t memory_bytes = 0;  ///< what this process may still take; 0: not known
  int cores = 1;
  Json environment;                  ///< machine, build, libraries: part of every record
  std::vector<Machine> others = {};  ///< for the plan's other trainers; without others of their own

  /// That of the trainer that `point` names, else this one.
  [[nodiscard]] const Machine& of(const experiment::Point& point) const;
};

/// One point, resolved: model, tokenizer and dataset exist and fit each other.
struct PlannedPoint {
  experiment::Point point;
  std::string title = {};  ///< "length=1024 batch=4": the inputs that vary
  std::string key = {};    ///< reuse key
  std::int64_t planned_steps = 0;
  double flops_per_step = 0;
  double timeout_s = 0;
  std::int64_t memory_bytes = 0;  ///< what the trainer may plan with; 0: no bound
  std::vector<std::pair<std::string, Json>> facts = {};  ///< record fields known before measuring
};

struct Plan {
  std::string experiment;
  std::vector<PlannedPoint> points = {};
  Repeats repeats = {};
  bool stability = false;  ///< the share of failed runs is what is measured: each run counts
  bool fresh = false;
  bool force = false;
  Machine machine = {};
  /// At least so many; with `until` perhaps more.
  [[nodiscard]] std::int64_t measurements() const {
    return repeats.count * static_cast<std::int64_t>(points.size());
  }
};

/// Runs of one point that a stability experiment is made of.
inline constexpr std::int64_t kStabilityRuns = 5;

/// Request to plan: the points, checked against each other's rules, the model's limits and the
/// dataset. Each model, tokenizer and dataset is opened once. Nothing is written. All mistakes are
/// reported; with one the plan is not to be used.
Plan make_plan(const Request& request, Machine machine, Diagnostics& problems);

/// Longest time a measurement may take: ten minutes, or, when that is more, what its arithmetic
/// takes on a slow machine plus the time that the point asks for itself (stop_after_seconds).
double default_timeout_s(const experiment::Point& point, double flops_per_step,
                         std::int64_t planned_steps, int cores);

/// What a trainer may plan with: what the machine has, less a sixteenth for the process itself, and
/// not more than the limit that was asked for. 0 stands for no bound, on both sides.
std::int64_t memory_bound(std::int64_t machine_bytes, double limit_gib);

}  // namespace tunebench::campaign
