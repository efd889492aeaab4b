#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/json.h"
#include "tunebench/campaign/request.h"
#include "tunebench/experiment/experiment.h"
#include "tunebench/hardware/gpu_class.h"

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

/// What measures, and where.
struct Machine {
  std::string trainer;
  std::string trainer_version;
  std::string hardware_class;     ///< part of the reuse key, of points without GPUs
  std::int64_t memory_bytes = 0;  ///< what this process may still take; 0: not known
  int cores = 1;
  /// The same with drivers for points on 1, 2, ... GPUs; a trainer that plays a model has none.
  std::vector<hardware::GpuClass> gpu_classes = {};
  Json environment;                  ///< machine, build, libraries: part of every record
  std::vector<Machine> others = {};  ///< for the plan's other trainers; without others of their own

  /// That of the trainer that `point` names, else this one.
  [[nodiscard]] const Machine& of(const experiment::Point& point) const;
};

/// One point, resolved: model, tokenizer and dataset exist and fit each other.
struct PlannedPoint {
  experiment::Point point;
  std::string title = {};      ///< "length=1024 batch=4": the inputs that vary
  std::string key = {};        ///< reuse key
  std::string point_key = {};  ///< record::Record::point_key
  Json conditions = {};        ///< record::Record::conditions
  std::int64_t planned_steps = 0;
  double flops_per_step = 0;
  double timeout_s = 0;
  std::int64_t memory_bytes = 0;  ///< what the trainer may plan with; 0: no bound
  std::vector<std::pair<std::string, Json>> facts = {};  ///< record fields known before measuring
  std::optional<std::int64_t> needed_bytes = {};  ///< predicted; only by Resolver::plan_memory
  std::string invalid = {};  ///< the rule it breaks: recorded as invalid_config, never started
};

class Search;

struct Plan {
  std::string experiment;                 ///< of the first point
  std::vector<PlannedPoint> points = {};  ///< with a search: some that it may choose
  std::shared_ptr<Search> search = {};    ///< chooses points one by one; nullptr: all are measured
  std::string search_method = {};
  std::int64_t search_points = 0;  ///< that the search visits at most
  Repeats repeats = {};
  bool stability = false;  ///< the share of failed runs is what is measured: each run counts
  bool fresh = false;
  bool force = false;
  bool accept_stale = false;                   ///< reuse also results of other conditions
  std::optional<std::int64_t> max_age_s = {};  ///< of results to reuse
  std::string max_age_text = {};               ///< as the user wrote it
  Machine machine = {};
  /// At least so many; with `until` perhaps more.
  [[nodiscard]] std::int64_t measurements() const {
    return repeats.count * (search != nullptr ? search_points : std::ssize(points));
  }
};

/// Runs of one point that a stability experiment is made of.
inline constexpr std::int64_t kStabilityRuns = 5;

/// Request to plan: the points that the rules keep, at most 100,000, checked against each other's
/// rules, the model's limits and the dataset. Each model, tokenizer and dataset is opened once.
/// Nothing is written. All mistakes are reported; with one the plan is not to be used.
Plan make_plan(const Request& request, Machine machine, Diagnostics& problems);

/// The same mistake at many points is one mistake.
void add_once(const Diagnostics& found, Diagnostics& problems);

/// How often a request wants each point of so many. Mistakes are told.
Repeats repeats_of(const Request& request, bool stability, std::size_t points,
                   Diagnostics& problems);
/// Whether a request's experiments are of the kind in which each run counts. That some are and some
/// are not is a mistake.
bool stability_of(const Request& request, Diagnostics& problems);

/// What a point's key holds beside the point: text by record::condition_names().
Json conditions_of(const Machine& machine, const experiment::Point& point);

/// Longest time a measurement may take: ten minutes, or, when that is more, what its arithmetic
/// takes on a slow machine plus the time that the point asks for itself (stop_after_seconds).
double default_timeout_s(const experiment::Point& point, double flops_per_step,
                         std::int64_t planned_steps, int cores);

/// What a trainer may plan with: what the machine has, less a sixteenth for the process itself, and
/// not more than the limit that was asked for. 0 stands for no bound, on both sides.
std::int64_t memory_bound(std::int64_t machine_bytes, double limit_gib);

}  // namespace tunebench::campaign
