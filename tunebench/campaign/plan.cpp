#include "tunebench/campaign/plan.h"

#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/campaign/internal/search_space.h"
#include "tunebench/campaign/resolver.h"
#include "tunebench/measure/window.h"
#include "tunebench/record/record.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::campaign {

namespace {

/// Steps until a window is full when a step takes so long that warm-up ends by the clock.
constexpr std::int64_t kSlowStepsOfAWindow = 25;
/// A rate that even a slow core reaches; only bounds the time that a measurement may take.
constexpr double kSlowFlopsPerCore = 4e9;
constexpr double kShortestTimeoutS = 600.0;

/// More than this is a slip of the hand. A point takes about 5 kB here and seconds to measure.
constexpr std::size_t kMostPoints = 100'000;

void tell_too_many(const space::Space& space, Diagnostics& problems) {
  problems.push_back(
      {"",
       space.rules().empty()
           ? fmt::format("these values make {} points, more than {}",
                         space::count_text(space.approximate_size(), true),
                         with_thousands(kMostPoints))
           : fmt::format("the rules leave more than {} points", with_thousands(kMostPoints)),
       space.rules().empty() ? "give fewer values" : "give fewer values, or stop: {points: N}"});
}

/// The points that the rules keep, each key once.
void add_points(const Request& request, const space::Space& space, Plan& plan,
                Diagnostics& problems) {
  const std::size_t most = static_cast<std::size_t>(
      std::min<std::int64_t>(request.stop.points.value_or(kMostPoints + 1), kMostPoints + 1));
  if (space.rules().empty() && !request.stop.points &&
      space.approximate_size() > static_cast<double>(kMostPoints)) {
    return tell_too_many(space, problems);
  }
  Resolver resolver(request, space, plan.machine, problems);
  std::set<std::string> keys;
  space::Walk walk(space);
  std::size_t kept = 0;
  while (plan.points.size() < most && walk.next()) {
    if (++kept > kMostPoints) {
      return tell_too_many(space, problems);
    }
    std::optional<PlannedPoint> planned = resolver.resolve(walk.digits());
    if (planned && keys.insert(planned->key).second) {
      plan.points.push_back(std::move(*planned));
    }
  }
  if (kept == 0) {
    problems.push_back({"", "the rules exclude every point", "tunebench plan tells which"});
  }
}

void add_search(const Request& request, const space::Space& space, Plan& plan,
                Diagnostics& problems) {
  plan.search = std::make_shared<Search>(request, space, plan.machine, problems);
  plan.search_method = request.search.method;
  plan.search_points = plan.search->most_points();
  plan.points = plan.search->looked_at();
}

/// A method that learns from results learns more from another point than from the same again.
Request with_trials(const Request& request) {
  Request wanted = request;
  const std::string& method = request.search.method;
  if (!request.repeats && !request.until &&
      (method == "tpe" || method == "gp" || method == "halving")) {
    wanted.repeats = 1;
  }
  return wanted;
}

}  // namespace

Json conditions_of(const Machine& machine, const experiment::Point& point) {
  hardware::GpuClass host{.hardware_class = machine.hardware_class};
  const std::int64_t gpus = point.integer("number_gpus");
  if (gpus > 0 && gpus <= std::ssize(machine.gpu_classes)) {
    host = machine.gpu_classes[static_cast<std::size_t>(gpus - 1)];
  }
  Json conditions = Json::object({{"metric_schema", std::to_string(record::kMetricSchema)},
                                  {"trainer", machine.trainer},
                                  {"trainer_version", machine.trainer_version},
                                  {"hardware_class", host.hardware_class}});
  for (const auto& [name, value] :
       {std::pair("driver", &host.driver), {"cuda", &host.cuda}, {"mig", &host.mig}}) {
    if (!value->empty()) {
      conditions.set(name, *value);
    }
  }
  return conditions;
}

const Machine& Machine::of(const experiment::Point& point) const {
  const auto wanted = point.inputs.find("trainer");
  for (const Machine& other : others) {
    if (wanted != point.inputs.end() && wanted->second == Json(other.trainer)) {
      return other;
    }
  }
  return *this;
}

void add_once(const Diagnostics& found, Diagnostics& problems) {
  std::set<std::string> told;
  for (const Diagnostic& problem : found) {
    if (told.insert(problem.line()).second) {
      problems.push_back(problem);
    }
  }
}

double default_timeout_s(const experiment::Point& point, double flops_per_step,
                         std::int64_t planned_steps, int cores) {
  // The warm-up and the window of auto_stop_method, of which a slow step may run over the end.
  constexpr double kAutoStopS = 180.0;
  const double asked_s = std::max(point.input("auto_stop_method").is_null() ? 0.0 : kAutoStopS,
                                  point.real("stop_after_seconds"));
  const bool all_steps = measure::bounds_own_length(point) && asked_s <= 0;
  const std::int64_t most = all_steps ? planned_steps : kSlowStepsOfAWindow;
  const auto steps = static_cast<double>(
      std::clamp<std::int64_t>(most, 1, std::max<std::int64_t>(1, planned_steps)));
  const double slow_rate = kSlowFlopsPerCore * static_cast<double>(std::max(1, cores));
  return std::max(kShortestTimeoutS, steps * flops_per_step / slow_rate + asked_s);
}

std::int64_t memory_bound(std::int64_t machine_bytes, double limit_gib) {
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  const std::int64_t machine = machine_bytes - machine_bytes / 16;
  const auto limit = static_cast<std::int64_t>(std::min(limit_gib * kGib, 9e18));
  if (limit <= 0 || machine <= 0) {
    return std::max(limit, machine);
  }
  return std::min(limit, machine);
}

Repeats repeats_of(const Request& request, bool stability, std::size_t points,
                   Diagnostics& problems) {
  constexpr std::int64_t kSeveral = 3;
  constexpr std::int64_t kFewestForAnInterval = 2;
  if (stability) {
    if (request.repeats || request.until) {
      problems.push_back({"",
                          fmt::format("{} makes {} runs of each point; repeats cannot be chosen",
                                      request.experiment->id, kStabilityRuns),
                          "leave out --repeats and --until"});
    }
    return {.count = kStabilityRuns, .order_seed = request.order_seed};
  }
  Repeats repeats{.count = request.repeats.value_or(points > 1 || request.until ? kSeveral : 1),
                  .until = request.until,
                  .most = request.most_repeats,
                  .order_seed = request.order_seed};
  if (repeats.until) {
    repeats.count = std::max(repeats.count, kFewestForAnInterval);
    if (repeats.count > repeats.most) {
      problems.push_back({"",
                          fmt::format("{} repeats are more than the {} that --max-repeats allows",
                                      repeats.count, repeats.most),
                          ""});
    }
  }
  return repeats;
}

bool stability_of(const Request& request, Diagnostics& problems) {
  std::vector<const experiment::Experiment*> all;
  for (const space::ExperimentChoice& choice : request.experiments) {
    all.push_back(choice.experiment);
  }
  if (all.empty()) {
    all.push_back(request.experiment);
  }
  const auto counts_runs = [](const experiment::Experiment* one) {
    return one->purpose == "Stability";
  };
  const auto count = std::ranges::count_if(all, counts_runs);
  if (count != 0 && count != std::ssize(all)) {
    problems.push_back(
        {"", "benchmarks and stability experiments do not go into one run", "make a plan of each"});
  }
  return count > 0;
}

Plan make_plan(const Request& request, Machine machine, Diagnostics& problems) {
  Diagnostics found;
  check_gates(request, found);
  Plan plan{.experiment = request.experiment->id,
            .stability = stability_of(request, found),
            .fresh = request.fresh,
            .force = request.force,
            .accept_stale = request.accept_stale,
            .max_age_s = request.max_age_s,
            .max_age_text = request.max_age_text,
            .machine = std::move(machine)};
  if (const std::optional<space::Space> space = space_of(request, found)) {
    plan.experiment = space->variants().front().experiment;
    if (is_search(request)) {
      add_search(request, *space, plan, found);
    } else {
      add_points(request, *space, plan, found);
    }
  }
  plan.repeats = repeats_of(with_trials(request), plan.stability, plan.points.size(), found);
  add_once(found, problems);
  return plan;
}

}  // namespace tunebench::campaign
