#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/search/internal/stoppers.h"
#include "tunebench/stats/summary.h"

namespace tunebench::search {
namespace {

using Kind = ParameterRule::Kind;

bool same_trial(const Observation& first, const Observation& second) {
  return first.point == second.point && first.budget == second.budget;
}

/// A budget of trials that do not improve, never refilled, and a stop at a trial that repeats the
/// one before.
class SimpleStopper final : public Stopper {
 public:
  explicit SimpleStopper(const Parameters& parameters)
      : metric_(parameters.metric("metric")),
        direction_(parameters.direction("mode")),
        grace_(static_cast<std::size_t>(parameters.count("min_trials"))),
        buffer_(parameters.count("buffer_states")),
        stop_on_repeat_(parameters.flag("stop_on_repeat")),
        count_nan_(parameters.flag("count_nan")) {}

  [[nodiscard]] StopReport report(std::span<const Observation> history) const override {
    std::optional<double> best;
    std::int64_t used = 0;
    for (std::size_t i = 0; i < history.size(); ++i) {
      const bool in_grace = i + 1 <= grace_;
      if (!in_grace && stop_on_repeat_ && i > 0 && same_trial(history[i], history[i - 1])) {
        return told(true, i + 1, used, best, "the trial repeats the one before");
      }
      const double value = metric_of(history[i], metric_);
      if (std::isnan(value) && !count_nan_) {
        continue;
      }
      if (!std::isnan(value) && (!best || is_better(value, *best, direction_))) {
        best = value;
      } else if (!in_grace && ++used > buffer_) {
        return told(true, i + 1, used, best, "no improvement");
      }
    }
    return told(false, history.size(), used, best, "improving");
  }

 private:
  [[nodiscard]] StopReport told(bool stop, std::size_t trial, std::int64_t used,
                                std::optional<double> best, const char* why) const {
    StopReport report{.name = "SimpleStopper",
                      .stop = stop,
                      .text = fmt::format("{} at trial {}: {} of {} allowed trials without "
                                          "improvement used",
                                          why, trial, std::min(used, buffer_), buffer_),
                      .numbers = Json::object()};
    report.numbers.set("trial", static_cast<std::int64_t>(trial));
    report.numbers.set("without_improvement", used);
    report.numbers.set("buffer_states", buffer_);
    report.numbers.set("best", best ? Json(*best) : Json());
    return report;
  }

  std::size_t metric_;
  Direction direction_;
  std::size_t grace_;
  std::int64_t buffer_;
  bool stop_on_repeat_;
  bool count_nan_;
};

/// Valid trials in a row that grow by less than the threshold over the valid one before.
class GrowthStopper final : public Stopper {
 public:
  explicit GrowthStopper(const Parameters& parameters)
      : metric_(parameters.metric("metric")),
        direction_(parameters.direction("mode")),
        threshold_(parameters.number("growth_threshold")),
        grace_(parameters.count("grace_trials")) {}

  [[nodiscard]] StopReport report(std::span<const Observation> history) const override {
    std::optional<double> before;
    double growth = 0;
    std::int64_t hits = 0;
    std::size_t trial = 0;
    for (; trial < history.size() && hits <= grace_; ++trial) {
      const double value = metric_of(history[trial], metric_);
      if (std::isnan(value)) {
        continue;
      }
      if (before) {
        growth = direction_ == Direction::Minimize ? *before - value : value - *before;
        hits = growth < threshold_ ? hits + 1 : 0;
      }
      before = value;
    }
    StopReport report{.name = "GrowthStopper",
                      .stop = hits > grace_,
                      .text = fmt::format("{} trials in a row grew by less than {}, {} are allowed",
                                          hits, shortest(threshold_), grace_),
                      .numbers = Json::object()};
    report.numbers.set("trial", static_cast<std::int64_t>(trial));
    report.numbers.set("hits", hits);
    report.numbers.set("grace_trials", grace_);
    report.numbers.set("last_growth", growth);
    return report;
  }

 private:
  std::size_t metric_;
  Direction direction_;
  double threshold_;
  std::int64_t grace_;
};

/// A configuration was measured so often.
class RepeatedSampleStopper final : public Stopper {
 public:
  explicit RepeatedSampleStopper(const Parameters& parameters)
      : limit_(parameters.count("max_repeats")) {}

  [[nodiscard]] StopReport report(std::span<const Observation> history) const override {
    std::unordered_map<Point, std::int64_t> counts;
    std::int64_t most = 0;
    for (const Observation& trial : history) {
      most = std::max(most, ++counts[trial.point]);
    }
    StopReport report{
        .name = "RepeatedSampleStopper",
        .stop = most >= limit_,
        .text = fmt::format("one point was measured {} times, limit {}", most, limit_),
        .numbers = Json::object()};
    report.numbers.set("most", most);
    report.numbers.set("limit", limit_);
    return report;
  }

 private:
  std::int64_t limit_;
};

/// Which side of a threshold the mean difference of two metrics lies on, by Student's posterior
/// under Jeffreys' prior.
class DifferenceStopper final : public Stopper {
 public:
  explicit DifferenceStopper(const Parameters& parameters)
      : first_(parameters.metric("metric_a")),
        second_(parameters.metric("metric_b")),
        names_(parameters.text("metric_a") + " - " + parameters.text("metric_b")),
        threshold_(parameters.number("threshold")),
        target_(parameters.number("target_probability")),
        // Two differences are the fewest that tell of a spread.
        least_(
            static_cast<std::size_t>(std::max<std::int64_t>(2, parameters.count("min_samples")))) {}

  [[nodiscard]] StopReport report(std::span<const Observation> history) const override {
    StopReport report{.name = "BayesianMetricDifferenceStopper",
                      .stop = false,
                      .text = {},
                      .numbers = Json::object()};
    std::vector<double> differences;
    for (std::size_t i = 0; i < history.size() && !report.stop; ++i) {
      const double difference = metric_of(history[i], first_) - metric_of(history[i], second_);
      if (std::isfinite(difference)) {
        differences.push_back(difference);
        if (differences.size() >= least_) {
          judge(differences, i + 1, report);
        }
      }
    }
    if (report.text.empty()) {
      report.text = fmt::format("{} usable trials, {} needed", differences.size(), least_);
      report.numbers.set("count", static_cast<std::int64_t>(differences.size()));
    }
    return report;
  }

 private:
  void judge(const std::vector<double>& differences, std::size_t trial, StopReport& report) const {
    const double mean = stats::mean(differences);
    const double sd = stats::sample_sd(differences);
    const double above = probability_above(mean, sd, static_cast<double>(differences.size()));
    const char* side = above >= target_       ? "above"
                       : 1 - above >= target_ ? "within"
                                              : "on no certain side of";
    report.stop = above >= target_ || 1 - above >= target_;
    report.text = fmt::format("|{}| is {} {}: probability of above {:.4f}", names_, side,
                              shortest(threshold_), above);
    report.numbers.set("trial", static_cast<std::int64_t>(trial));
    report.numbers.set("count", static_cast<std::int64_t>(differences.size()));
    report.numbers.set("mean_difference", mean);
    report.numbers.set("sd", sd);
    report.numbers.set("probability_above", above);
    report.numbers.set("threshold", threshold_);
    report.numbers.set("target_probability", target_);
  }

  /// That the mean lies farther from 0 than the threshold, on either side.
  [[nodiscard]] double probability_above(double mean, double sd, double count) const {
    const double error = sd / std::sqrt(count);
    if (error <= 1e-12 * std::abs(mean) || error == 0) {
      return std::abs(mean) > threshold_ ? 1.0 : 0.0;
    }
    const auto upper_tail = [count](double t) {
      const double half = stats::student_t_two_sided(t, count - 1) / 2;
      return t >= 0 ? half : 1 - half;
    };
    return upper_tail((threshold_ - mean) / error) + upper_tail((threshold_ + mean) / error);
  }

  std::size_t first_;
  std::size_t second_;
  std::string names_;
  double threshold_;
  double target_;
  std::size_t least_;
};

template <typename Kind>
std::unique_ptr<Stopper> make_of(const Parameters& parameters, const StopContext& /*context*/) {
  return std::make_unique<Kind>(parameters);
}

}  // namespace

std::vector<StopperKind> ado_stoppers() {
  return {
      {"SimpleStopper",
       {{"mode", Kind::Mode},
        {"metric", Kind::Metric},
        {"experiment_key", Kind::Ignored, false},
        {"min_trials", Kind::WholeFromZero, false, Json(5)},
        {"buffer_states", Kind::WholeFromZero, false, Json(2)},
        {"stop_on_repeat", Kind::Flag, false, Json(true)},
        {"count_nan", Kind::Flag, false, Json(true)}},
       make_of<SimpleStopper>},
      {"GrowthStopper",
       {{"mode", Kind::Mode},
        {"metric", Kind::Metric},
        {"growth_threshold", Kind::NotNegative, false, Json(1.0)},
        {"grace_trials", Kind::WholeFromZero, false, Json(2)}},
       make_of<GrowthStopper>},
      {"RepeatedSampleStopper",
       {{"max_repeats", Kind::Count, false, Json(5)}, {"experiment_key", Kind::Ignored, false}},
       make_of<RepeatedSampleStopper>},
      {"BayesianMetricDifferenceStopper",
       {{"metric_a", Kind::Metric},
        {"metric_b", Kind::Metric},
        {"threshold", Kind::NotNegative},
        {"target_probability", Kind::Probability, false, Json(0.95)},
        {"min_samples", Kind::Count, false, Json(10)}},
       make_of<DifferenceStopper>},
  };
}

}  // namespace tunebench::search
