#include "tunebench/campaign/campaign.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/campaign/time_left.h"

namespace tunebench::campaign {

namespace {

/// What a campaign knows about one point.
struct PointState {
  std::int64_t valid = 0;      ///< measurements that count, reused ones included
  bool finished = false;       ///< nothing more is to be measured
  std::set<std::string> seen;  ///< records linked or made
};

bool worth_another_try(record::Outcome outcome) {
  return outcome == record::Outcome::Crashed || outcome == record::Outcome::Killed ||
         outcome == record::Outcome::Io;
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
    link_known();
    observer_.started(run, result_.reused);
    measure_rounds();
    tools_.store.end_run(run.name, result_.interrupted ? "interrupted" : "finished");
    for (const PointState& state : states_) {
      result_.valid_points += state.valid > 0 ? 1 : 0;
      result_.failed_points += state.valid > 0 ? 0 : 1;
    }
    return result_;
  }

 private:
  /// Links what the store knows of a point and this run has not seen, up to what is wanted.
  void link_known(std::size_t index) {
    PointState& state = states_[index];
    if (plan_.fresh || state.finished) {
      return;
    }
    for (const record::Record& record : tools_.store.reusable(plan_.points[index].key)) {
      if (state.finished) {
        break;
      }
      if (state.seen.insert(record.id).second) {
        tools_.store.link_reused(result_.run, record.id);
        ++result_.reused;
        count(state, record);
      }
    }
  }

  void link_known() {
    for (std::size_t index = 0; index < states_.size(); ++index) {
      link_known(index);
      done_ += states_[index].valid;
    }
  }

  void count(PointState& state, const record::Record& record) const {
    if (record.is_valid()) {
      ++state.valid;
      state.finished = state.valid >= plan_.repeats;
    } else {
      state.finished = true;
    }
  }

  void measure_rounds() {
    for (std::int64_t round = 1; round <= plan_.repeats; ++round) {
      for (std::size_t index = 0; index < states_.size(); ++index) {
        if (states_[index].valid >= round) {
          continue;
        }
        if (states_[index].finished) {
          ++done_;  // its repeats are given up
          continue;
        }
        if (tools_.stop.level.load() > 0) {
          result_.interrupted = true;
          return;
        }
        const std::int64_t before = states_[index].valid;
        link_known(index);
        if (states_[index].valid == before && !states_[index].finished) {
          measure(index, round);
        }
        ++done_;
        if (result_.interrupted) {
          return;
        }
      }
    }
  }

  /// One measurement, with its second attempt when the first died.
  void measure(std::size_t index, std::int64_t round) {
    const PlannedPoint& planned = plan_.points[index];
    PointState& state = states_[index];
    for (std::int64_t attempt = 1; attempt <= 2; ++attempt) {
      const Position position{.number = done_ + 1,
                              .total = plan_.measurements(),
                              .point = &planned,
                              .round = round,
                              .attempt = attempt};
      const record::Record record = measure_once(position);
      tools_.store.append(record);
      state.seen.insert(record.id);
      if (record.status == record::Outcome::Interrupted || tools_.stop.level.load() > 1) {
        result_.interrupted = true;
      }
      const bool again =
          attempt == 1 && worth_another_try(record.status) && tools_.stop.level.load() == 0;
      observer_.measured(position, record, again);
      if (record.is_valid()) {
        ++result_.measured;
      }
      if (!again) {
        if (!result_.interrupted || record.is_valid()) {
          count(state, record);
        }
        return;
      }
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
                             .protocol = {}};
    request.protocol.timeout_s = planned.timeout_s;
    request.idle = tools_.idle;
    observer_.measuring(position);
    const std::chrono::nanoseconds begin = tools_.clock.now();
    record::Record record = measure::measure_point(
        request, tools_.trainer, tools_.clock, tools_.stop, [&](const measure::Progress& progress) {
          observer_.progress(position, progress,
                             time_left_.seconds(progress.seconds_left, planned, remaining()));
        });
    time_left_.add(planned, tools_.clock.now() - begin);
    complete(record, position, id, request.log_file);
    return record;
  }

  /// What measure does not know: identity, facts of the point, where it was measured.
  void complete(record::Record& record, const Position& position, const std::string& id,
                const std::filesystem::path& log_file) const {
    record.id = id;
    record.run = result_.run;
    record.key = position.point->key;
    record.experiment = plan_.experiment;
    record.inputs = position.point->point.inputs;
    record.repeat = position.round;
    record.attempt = position.attempt;
    record.environment = plan_.machine.environment;
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

  /// The measurements after the running one.
  std::vector<const PlannedPoint*> remaining() const {
    std::vector<const PlannedPoint*> points;
    for (std::size_t index = 0; index < states_.size(); ++index) {
      if (!states_[index].finished) {
        points.insert(points.end(), static_cast<std::size_t>(plan_.repeats - states_[index].valid),
                      &plan_.points[index]);
      }
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

Result run_campaign(const Plan& plan, const Tools& tools, Observer& observer) {
  return Campaign(plan, tools, observer).run();
}

}  // namespace tunebench::campaign
