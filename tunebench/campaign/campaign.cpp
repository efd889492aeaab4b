#include "tunebench/campaign/campaign.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "tunebench/base/random.h"
#include "tunebench/campaign/internal/searching.h"
#include "tunebench/campaign/internal/worker.h"

namespace tunebench::campaign {

namespace {

/// Every point of the plan, in rounds.
class Rounds {
 public:
  Rounds(const Plan& plan, const Tools& tools, Observer& observer)
      : plan_(plan),
        observer_(observer),
        worker_(plan, tools, observer),
        states_(plan.points.size()) {}

  Result run() {
    worker_.left = plan_.measurements();
    const store::Run run = worker_.begin(plan_.measurements());
    take_back();
    std::vector<std::string> known;
    for (std::size_t index = 0; index < states_.size(); ++index) {
      worker_.find_known(plan_.points[index], states_[index], known);
    }
    worker_.link(known);
    worker_.started(run);
    worker_.result.stale.of_points = std::ssize(plan_.points);
    if (worker_.result.stale.any()) {
      observer_.stale(worker_.result.stale);
    }
    measure_rounds();
    for (const PointState& state : states_) {
      const bool answered = plan_.stability ? state.counted > 0 : state.valid > 0;
      ++(answered ? worker_.result.valid_points : worker_.result.failed_points);
    }
    return worker_.end();
  }

 private:
  /// What this run did before it was interrupted.
  void take_back() {
    const std::vector<store::RunRecord> records = worker_.records_before();
    std::map<std::string_view, std::size_t> places;
    for (std::size_t index = 0; !records.empty() && index < states_.size(); ++index) {
      places.emplace(plan_.points[index].key, index);
    }
    for (const store::RunRecord& one : records) {
      if (const auto place = places.find(one.record.key); place != places.end()) {
        worker_.take_back(states_[place->second], one);
      }
    }
  }

  void measure_rounds() {
    std::int64_t round = 1;
    while (worker_.left > 0) {
      std::int64_t held = 0;
      bool moved = false;
      for (const std::size_t index : order_of(round)) {
        PointState& state = states_[index];
        if (state.finished || state.counted >= round) {
          continue;
        }
        const Turn turn =
            worker_.take_turn(plan_.points[index], state, [this] { return remaining(); });
        if (turn == Turn::Stopped) {
          return;
        }
        held += turn == Turn::Held ? 1 : 0;
        moved = moved || turn != Turn::Held;
      }
      if (held > 0 && !moved && nothing_beyond(round)) {
        worker_.wait(held);
      } else {
        ++round;
      }
    }
  }

  /// No point that this round leaves out has measurements to come.
  [[nodiscard]] bool nothing_beyond(std::int64_t round) const {
    return std::ranges::none_of(states_, [round](const PointState& state) {
      return !state.finished && state.counted >= round;
    });
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

  /// The measurements to come, the running one included.
  [[nodiscard]] std::vector<const PlannedPoint*> remaining() const {
    std::vector<const PlannedPoint*> points;
    for (std::size_t index = 0; index < states_.size(); ++index) {
      points.insert(points.end(), static_cast<std::size_t>(wanted(states_[index], plan_)),
                    &plan_.points[index]);
    }
    return points;
  }

  const Plan& plan_;
  Observer& observer_;
  Worker worker_;
  std::vector<PointState> states_;
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
  return plan.search != nullptr ? run_search(plan, tools, observer)
                                : Rounds(plan, tools, observer).run();
}

}  // namespace tunebench::campaign
