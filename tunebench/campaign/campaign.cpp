#include "tunebench/campaign/campaign.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/log.h"
#include "tunebench/base/random.h"
#include "tunebench/base/secrets.h"
#include "tunebench/campaign/time_left.h"
#include "tunebench/measure/auto_stop.h"
#include "tunebench/stats/summary.h"

namespace tunebench::campaign {

namespace {

/// What a campaign knows about one point.
struct PointState {
  std::int64_t counted = 0;    ///< measurements that count, reused ones included
  std::int64_t valid = 0;      ///< of those, the valid ones
  bool finished = false;       ///< nothing more is to be measured
  std::set<std::string> seen;  ///< records linked or made
  std::vector<double> rates;   ///< of the valid ones
};

constexpr std::array kPauses = {std::chrono::milliseconds(500), std::chrono::milliseconds(2000)};
/// How soon an interrupt is noticed in a pause.
constexpr std::chrono::nanoseconds kLook = std::chrono::milliseconds(100);

/// A path or an id may hold a token or the password of a URL.
experiment::Inputs without_secrets(experiment::Inputs inputs) {
  for (auto& [name, value] : inputs) {
    if (value.is_string()) {
      value = Json(mask_secrets(value.as_string()));
    }
  }
  return inputs;
}

/// Sortable by time; unique as the names of runs are.
std::string new_record_id(Clock& clock, const std::string& run, std::int64_t number) {
  return fmt::format("{:010x}-{}-{:04}", clock.unix_seconds(), run, number);
}

class Campaign {
 public:
  Campaign(const Plan& plan, const Tools& tools, Observer& observer)
      : plan_(plan), tools_(tools), observer_(observer), states_(plan.points.size()) {}

  Result run() {
    const store::Run run = tools_.store.begin_run(tools_.command, plan_.measurements());
    result_.run = run.name;
    std::vector<std::string> known;
    for (std::size_t index = 0; index < states_.size(); ++index) {
      find_known(index, known);
    }
    tools_.store.link_reused(run.name, known);
    observer_.started(run, result_.reused);
    measure_rounds();
    tools_.store.end_run(run.name, result_.interrupted ? "interrupted" : "finished");
    for (const PointState& state : states_) {
      const bool answered = plan_.stability ? state.counted > 0 : state.valid > 0;
      result_.valid_points += answered ? 1 : 0;
      result_.failed_points += answered ? 0 : 1;
    }
    return result_;
  }

 private:
  /// Counts what the store knows of a point and this run has not seen, up to what is wanted; adds
  /// the ids to `known`, to be linked.
  void find_known(std::size_t index, std::vector<std::string>& known) {
    PointState& state = states_[index];
    if (plan_.fresh || state.finished) {
      return;
    }
    const std::string& key = plan_.points[index].key;
    for (const record::Record& record :
         plan_.stability ? tools_.store.attempts(key) : tools_.store.reusable(key)) {
      if (state.finished) {
        break;
      }
      if (state.seen.insert(record.id).second) {
        known.push_back(record.id);
        ++result_.reused;
        ++done_;
        count(state, record);
      }
    }
  }

  void count(PointState& state, const record::Record& record) const {
    if (!record.is_valid() && !plan_.stability) {
      state.finished = true;
      return;
    }
    ++state.counted;
    if (record.is_valid()) {
      ++state.valid;
      state.rates.push_back(record.number("tokens_per_s").value_or(0));
    }
    state.finished = state.counted >= plan_.repeats.count && precise_enough(state);
  }

  [[nodiscard]] bool precise_enough(const PointState& state) const {
    if (!plan_.repeats.until || state.counted >= plan_.repeats.most) {
      return true;
    }
    const std::optional<stats::Interval> interval = stats::mean_interval(state.rates);
    return interval && interval->half_width() <= *plan_.repeats.until * stats::mean(state.rates);
  }

  void measure_rounds() {
    for (std::int64_t round = 1; remaining_count() > 0; ++round) {
      for (const std::size_t index : order_of(round)) {
        PointState& state = states_[index];
        if (state.finished || state.counted >= round) {
          continue;
        }
        if (tools_.stop.level.load() > 0) {
          result_.interrupted = true;
          return;
        }
        std::vector<std::string> known;
        find_known(index, known);
        if (!known.empty()) {
          tools_.store.link_reused(result_.run, known);
        }
        if (!state.finished && state.counted < round) {
          measure(index, round);
        }
        if (result_.interrupted) {
          return;
        }
      }
    }
  }

  /// Fisher and Yates, drawn for each round.
  [[nodiscard]] std::vector<std::size_t> order_of(std::int64_t round) const {
    std::vector<std::size_t> order(states_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (plan_.repeats.order_seed) {
      for (std::size_t left = order.size(); left > 1; --left) {
        std::swap(order[left - 1],
                  order[uniform_int(*plan_.repeats.order_seed, static_cast<std::uint64_t>(round),
                                    left, left)]);
      }
    }
    return order;
  }

  /// One measurement, with its further attempts when that may help.
  void measure(std::size_t index, std::int64_t round) {
    const PlannedPoint& planned = plan_.points[index];
    PointState& state = states_[index];
    const std::int64_t attempts = plan_.stability ? 1 : kMostAttempts;
    const Position first{
        .number = done_ + 1, .total = done_ + remaining_count(), .point = &planned, .round = round};
    for (std::int64_t attempt = 1; attempt <= attempts; ++attempt) {
      Position position = first;
      position.attempt = attempt;
      const record::Record record = measure_once(position);
      tools_.store.append(record);
      state.seen.insert(record.id);
      if (record.status == record::Outcome::Interrupted || tools_.stop.level.load() > 1) {
        result_.interrupted = true;
      }
      const bool again =
          attempt < attempts && worth_another_try(record) && tools_.stop.level.load() == 0;
      observer_.measured(position, record, again);
      if (record.is_valid()) {
        ++result_.measured;
      }
      if (!again) {
        ++done_;
        if (!result_.interrupted || record.is_valid()) {
          count(state, record);
        }
        return;
      }
      pause(kPauses[static_cast<std::size_t>(attempt - 1)]);
      if (tools_.stop.level.load() > 0) {
        result_.interrupted = true;
        return;
      }
    }
  }

  /// Ends early when the user does not want to wait.
  void pause(std::chrono::nanoseconds duration) const {
    const std::chrono::nanoseconds until = tools_.clock.now() + duration;
    while (tools_.stop.level.load() == 0 && tools_.clock.now() < until) {
      tools_.clock.sleep_for(std::min(kLook, until - tools_.clock.now()));
    }
  }

  record::Record measure_once(const Position& position) {
    const PlannedPoint& planned = *position.point;
    const std::string id = new_record_id(tools_.clock, result_.run, ++records_made_);
    std::error_code ignored;
    std::filesystem::create_directories(tools_.log_folder, ignored);
    measure::Request request{.point = planned.point,
                             .log_file = tools_.log_folder / (id + ".log"),
                             .planned_steps = planned.planned_steps,
                             .memory_bytes = planned.memory_bytes,
                             .repeat = position.round,
                             .attempt = position.attempt,
                             .force = plan_.force,
                             .protocol = measure::protocol_for(planned.point)};
    request.protocol.timeout_s = planned.timeout_s;
    request.idle = tools_.idle;
    observer_.measuring(position);
    trainer::Trainer& trainer = tools_.trainer.of(planned.point);
    trainer.prepare();
    static_cast<void>(trainer.roof_gflops());
    const std::chrono::nanoseconds begin = tools_.clock.now();
    record::Record record = measure::measure_point(
        request, trainer, tools_.clock, tools_.stop, [&](const measure::Progress& progress) {
          observer_.progress(position, progress,
                             time_left_.seconds(progress.seconds_left, planned, remaining()));
        });
    time_left_.add(planned, tools_.clock.now() - begin);
    complete(record, position, id, request.log_file);
    set_model_flops_utilization(record, trainer);
    return record;
  }

  /// The roof was measured before the first child: a result is not kept waiting, as it could be
  /// lost.
  void set_model_flops_utilization(record::Record& record, trainer::Trainer& trainer) const {
    const std::optional<double> gflops = record.number("gflops");
    if (!gflops || tools_.stop.level.load() > 0) {
      return;
    }
    const std::optional<double> roof = trainer.roof_gflops();
    if (!roof || *roof <= 0) {
      return;
    }
    record.set("roof_gflops", *roof);
    if (*gflops > *roof) {
      log_warning_once(
          "a run was faster than the measured roof of matrix products: mfu is left out");
      return;
    }
    record.set("mfu", *gflops / *roof);
  }

  /// What measure does not know: identity, facts of the point, where it was measured.
  void complete(record::Record& record, const Position& position, const std::string& id,
                const std::filesystem::path& log_file) const {
    record.id = id;
    record.run = result_.run;
    record.key = position.point->key;
    record.experiment = plan_.experiment;
    record.inputs = without_secrets(position.point->point.inputs);
    record.repeat = position.round;
    record.attempt = position.attempt;
    record.environment = plan_.machine.of(position.point->point).environment;
    for (const auto& [field, value] : position.point->facts) {
      if (record.get(field).is_null()) {
        record.set(field, value);
      }
    }
    std::error_code missing;
    const std::uintmax_t bytes = std::filesystem::file_size(log_file, missing);
    if (!missing && bytes == 0) {
      std::filesystem::remove(log_file, missing);
      record.log_path.clear();
    }
  }

  /// At least so many measurements of a point are still to come.
  [[nodiscard]] std::int64_t wanted(const PointState& state) const {
    return state.finished ? 0 : std::max<std::int64_t>(1, plan_.repeats.count - state.counted);
  }

  [[nodiscard]] std::int64_t remaining_count() const {
    std::int64_t count = 0;
    for (const PointState& state : states_) {
      count += wanted(state);
    }
    return count;
  }

  /// The measurements to come, the running one included.
  [[nodiscard]] std::vector<const PlannedPoint*> remaining() const {
    std::vector<const PlannedPoint*> points;
    for (std::size_t index = 0; index < states_.size(); ++index) {
      points.insert(points.end(), static_cast<std::size_t>(wanted(states_[index])),
                    &plan_.points[index]);
    }
    return points;
  }

  const Plan& plan_;
  const Tools& tools_;
  Observer& observer_;
  std::vector<PointState> states_;
  TimeLeft time_left_;
  Result result_;
  std::int64_t done_ = 0;
  std::int64_t records_made_ = 0;
};

}  // namespace

bool worth_another_try(const record::Record& record) {
  using enum record::Outcome;
  if (record.number("nonfinite_steps").value_or(0) > 0) {
    return false;  // one seed gives the same bits
  }
  const record::Outcome outcome = record.status;
  return outcome == Crashed || outcome == Killed || outcome == Io || outcome == Cuda ||
         outcome == Nccl;
}

Result run_campaign(const Plan& plan, const Tools& tools, Observer& observer) {
  return Campaign(plan, tools, observer).run();
}

}  // namespace tunebench::campaign
