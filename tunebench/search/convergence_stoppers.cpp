#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/search/hypervolume.h"
#include "tunebench/search/internal/outcomes.h"
#include "tunebench/search/internal/stoppers.h"
#include "tunebench/stats/summary.h"

namespace tunebench::search {
namespace {

using Kind = ParameterRule::Kind;

/// So many trials in a row brought nothing better: with one objective a value better by the least
/// change, with several a point that no earlier one dominates or equals.
class NoImprovement final : public Stopper {
 public:
  NoImprovement(std::int64_t trials, double percent, std::vector<Direction> directions)
      : trials_(trials), share_(percent / 100), directions_(std::move(directions)) {}

  [[nodiscard]] StopReport report(std::span<const Observation> history) const override {
    LossRows best;
    std::int64_t since = 0;
    std::size_t improved_at = 0;
    for (std::size_t i = 0; i < history.size() && since < trials_; ++i) {
      if (improves(history[i], best)) {
        since = 0;
        improved_at = i + 1;
      } else {
        ++since;
      }
    }
    StopReport report{.name = "no_improvement",
                      .stop = since >= trials_,
                      .text = fmt::format("no improvement in {} trials, limit {}", since, trials_),
                      .numbers = Json::object()};
    report.numbers.set("since", since);
    report.numbers.set("limit", trials_);
    report.numbers.set("improved_at", static_cast<std::int64_t>(improved_at));
    if (directions_.size() == 1 && !best.empty()) {
      report.numbers.set("best", directions_[0] == Direction::Minimize ? best[0][0] : -best[0][0]);
    }
    return report;
  }

 private:
  /// Takes the trial into `best` when it counts.
  bool improves(const Observation& trial, LossRows& best) const {
    if (!is_good(trial, directions_)) {
      return false;
    }
    const std::vector<Observation> one = {trial};
    const std::vector<double> losses = outcomes_of(one, directions_)[0].losses;
    const bool enough = std::ranges::none_of(best, [&](const std::vector<double>& row) {
      for (std::size_t i = 0; i < row.size(); ++i) {
        const double least = losses.size() == 1 ? share_ * std::abs(row[i]) : 0.0;
        if (losses[i] < row[i] - least) {
          return false;
        }
      }
      return true;
    });
    if (enough) {
      std::erase_if(best, [&](const std::vector<double>& row) {
        return std::ranges::equal(losses, row, std::less_equal<>());
      });
      best.push_back(losses);
    }
    return enough;
  }

  std::int64_t trials_;
  double share_;
  std::vector<Direction> directions_;
};

/// The mean of the best point's first objective is known well enough.
class NarrowInterval final : public Stopper {
 public:
  NarrowInterval(double percent, std::int64_t least, Direction direction)
      : percent_(percent), least_(least), direction_(direction) {}

  [[nodiscard]] StopReport report(std::span<const Observation> history) const override {
    std::map<Point, std::vector<double>> values;
    for (const Observation& trial : history) {
      const double value = metric_of(trial, 0);
      if (std::isfinite(value)) {
        values[trial.point].push_back(value);
      }
    }
    const std::pair<const Point, std::vector<double>>* best = nullptr;
    for (const auto& one : values) {
      if (best == nullptr ||
          is_better(stats::mean(one.second), stats::mean(best->second), direction_)) {
        best = &one;
      }
    }
    StopReport report{.name = "narrow_interval",
                      .stop = false,
                      .text = "nothing measured",
                      .numbers = Json::object()};
    report.numbers.set("limit_percent", percent_);
    if (best != nullptr) {
      judge(best->first, best->second, report);
    }
    return report;
  }

 private:
  void judge(Point point, const std::vector<double>& values, StopReport& report) const {
    const double mean = stats::mean(values);
    const std::optional<stats::Interval> interval = stats::mean_interval(values);
    report.numbers.set("point", static_cast<std::int64_t>(point));
    report.numbers.set("mean", mean);
    report.numbers.set("count", static_cast<std::int64_t>(values.size()));
    if (!interval || static_cast<std::int64_t>(values.size()) < least_ || mean == 0) {
      report.text =
          fmt::format("the best point was measured {} times of {}", values.size(), least_);
      return;
    }
    const double percent = 100 * interval->half_width() / std::abs(mean);
    report.numbers.set("half_width_percent", percent);
    report.stop = percent <= percent_;
    report.text = fmt::format("the best point's mean is known to {:.3g} %, limit {} %", percent,
                              shortest(percent_));
  }

  double percent_;
  std::int64_t least_;
  Direction direction_;
};

std::vector<Direction> directions_of(const StopContext& context) {
  if (context.directions.empty()) {
    return {Direction::Maximize};
  }
  return context.directions;
}

}  // namespace

std::vector<StopperKind> convergence_stoppers() {
  return {
      {"no_improvement",
       {{"trials", Kind::Count}, {"min_percent", Kind::NotNegative, false, Json(0)}},
       [](const Parameters& parameters, const StopContext& context) -> std::unique_ptr<Stopper> {
         return std::make_unique<NoImprovement>(
             parameters.count("trials"), parameters.number("min_percent"), directions_of(context));
       }},
      {"narrow_interval",
       {{"percent", Kind::Positive}, {"min_repeats", Kind::Count, false, Json(3)}},
       [](const Parameters& parameters, const StopContext& context) -> std::unique_ptr<Stopper> {
         return std::make_unique<NarrowInterval>(parameters.number("percent"),
                                                 parameters.count("min_repeats"),
                                                 directions_of(context).front());
       }},
  };
}

}  // namespace tunebench::search
