#include "tunebench/campaign/internal/searching.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tunebench/campaign/internal/search_space.h"
#include "tunebench/campaign/internal/worker.h"

namespace tunebench::campaign {
namespace {

/// A place, and what the run knows of it.
struct Tried {
  PointState state;
  std::int64_t times = 1;                       ///< how often it was chosen
  std::int64_t trial_of = 0;                    ///< state.counted when it was chosen last
  std::vector<std::vector<double>> objectives;  ///< of its valid measurements, all times
  double seconds = 0;                           ///< of this trial; what is reused takes none
  double cost = 0;
};

class Searching {
 public:
  Searching(const Plan& plan, const Tools& tools, Observer& observer)
      : plan_(plan), search_(*plan.search), observer_(observer), worker_(plan, tools, observer) {}

  Result run() {
    const std::int64_t planned = search_.most_points() * plan_.repeats.count;
    worker_.left = planned;
    worker_.collects = true;
    const store::Run run = worker_.begin(planned);
    for (const store::RunRecord& one : worker_.records_before()) {
      take_back(one);
    }
    worker_.started(run);
    const std::string reason = search();
    worker_.result.stale.of_points = std::ssize(tried_);
    if (worker_.result.stale.any()) {
      observer_.stale(worker_.result.stale);
    }
    for (const auto& [place, tried] : tried_) {
      const bool answered = plan_.stability ? tried.state.counted > 0 : tried.state.valid > 0;
      if (answered || tried.state.finished) {
        ++(answered ? worker_.result.valid_points : worker_.result.failed_points);
      }
    }
    worker_.result.end_reason = reason;
    return worker_.end(reason);
  }

 private:
  /// Chooses and measures until the end; the reason as JSON text.
  std::string search() {
    while (true) {
      const std::vector<search::StopReport> reports = search_.reports(trials_, measurements_);
      const auto stop = std::ranges::find_if(reports, &search::StopReport::stop);
      if (stop != reports.end()) {
        return reason(stop->name, stop->text, reports);
      }
      std::vector<search::Pending> pending;
      for (const Place& place : held_) {
        pending.push_back({place.point, place.budget});
      }
      const std::optional<search::Choice> choice = search_.searcher().next(trials_, pending);
      if (!choice && held_.empty()) {
        return reason("all_points", "no point of the space is left", reports);
      }
      const bool went_on = choice ? begin_trial({choice->point, choice->budget}) : try_held();
      if (!went_on) {
        return "";
      }
    }
  }

  /// False when the user does not want to go on.
  bool begin_trial(const Place& place) {
    const auto [found, added] = tried_.try_emplace(place);
    Tried& tried = found->second;
    if (!added && tried.state.finished) {
      ++tried.times;
      choose_again(tried);
    }
    return go_on(place);
  }

  static void choose_again(Tried& tried) {
    tried.state.finished = false;
    tried.trial_of = tried.state.counted;
    tried.seconds = 0;
    tried.cost = 0;
  }

  /// Measures a place until its trial is over or another run holds it.
  bool go_on(const Place& place) {
    Tried& tried = tried_.at(place);
    const PlannedPoint& point = search_.resolve(place);
    while (!tried.state.finished) {
      const Turn turn = worker_.take_turn(
          point, tried.state, [&point] { return std::vector<const PlannedPoint*>{&point}; },
          tried.times);
      note(tried, place);
      if (turn == Turn::Stopped) {
        if (tried.state.finished) {
          end_trial(tried, place);
        }
        return false;
      }
      if (turn == Turn::Held) {
        if (std::ranges::find(held_, place) == held_.end()) {
          held_.push_back(place);
        }
        return true;
      }
    }
    std::erase(held_, place);
    end_trial(tried, place);
    return true;
  }

  /// Nothing else is left to choose.
  bool try_held() {
    const std::vector<Place> held = held_;
    for (const Place& place : held) {
      if (!go_on(place)) {
        return false;
      }
    }
    if (held_.size() == held.size()) {
      worker_.wait(std::ssize(held_));
    }
    return true;
  }

  /// The values of the records that the last turn brought.
  void note(Tried& tried, const Place& place) {
    for (const record::Record& record : worker_.take_new_records()) {
      if (record.status != record::Outcome::Interrupted) {
        observe(tried, place, record, record.run != worker_.result.run);
      }
    }
  }

  void observe(Tried& tried, const Place& place, const record::Record& record, bool reused) {
    const double seconds = reused ? 0 : record.number("wall_s").value_or(0);
    tried.seconds += seconds;
    tried.cost += seconds / 3600 * search_.hourly_cost(record);
    if (record.is_valid()) {
      tried.objectives.push_back(search_.objectives(record));
      measurements_.push_back({.point = place.point,
                               .objectives = tried.objectives.back(),
                               .valid = true,
                               .seconds = seconds,
                               .budget = place.budget});
    }
  }

  /// The mean over the measurements of the trial.
  void end_trial(const Tried& tried, const Place& place) {
    search::Observation trial{
        .point = place.point, .seconds = tried.seconds, .cost = tried.cost, .budget = place.budget};
    const auto first = static_cast<std::size_t>(std::max<std::int64_t>(
        0, std::ssize(tried.objectives) - (tried.state.counted - tried.trial_of)));
    const std::size_t count = tried.objectives.size() - first;
    trial.valid = count > 0;
    for (std::size_t objective = 0; objective < search_.objectives({}).size(); ++objective) {
      double sum = 0;
      for (std::size_t i = first; i < tried.objectives.size(); ++i) {
        sum += tried.objectives[i][objective];
      }
      trial.objectives.push_back(count > 0 ? sum / static_cast<double>(count) : 0.0);
    }
    trials_.push_back(std::move(trial));
  }

  /// A record of this run, of before an interruption.
  void take_back(const store::RunRecord& one) {
    const std::optional<Place> place = search_.place_of(one.record);
    if (!place) {
      return;
    }
    const auto [found, added] = tried_.try_emplace(*place);
    Tried& tried = found->second;
    if (!added && tried.state.finished && one.record.status != record::Outcome::Interrupted) {
      ++tried.times;
      choose_again(tried);
    }
    const bool seen = tried.state.seen.contains(one.record.id);
    worker_.take_back(tried.state, one, tried.times);
    if (!seen && one.record.status != record::Outcome::Interrupted) {
      observe(tried, *place, one.record, one.reused);
    }
    if (tried.state.finished) {
      end_trial(tried, *place);
    } else if (added && tried.state.seen.empty()) {
      tried_.erase(found);
    }
  }

  [[nodiscard]] std::string reason(const std::string& name, const std::string& text,
                                   const std::vector<search::StopReport>& reports) const {
    Json all = Json::array();
    for (const search::StopReport& report : reports) {
      all.push_back(search::to_json(report));
    }
    return Json::object({{"reason", name},
                         {"text", text},
                         {"trials", std::ssize(trials_)},
                         {"stoppers", std::move(all)}})
        .dump();
  }

  const Plan& plan_;
  Search& search_;
  Observer& observer_;
  Worker worker_;
  std::map<Place, Tried> tried_;
  std::vector<Place> held_;  ///< other runs measure them
  std::vector<search::Observation> trials_;
  std::vector<search::Observation> measurements_;  ///< each valid one
};

}  // namespace

Result run_search(const Plan& plan, const Tools& tools, Observer& observer) {
  return Searching(plan, tools, observer).run();
}

}  // namespace tunebench::campaign
