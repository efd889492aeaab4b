#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/search/internal/information.h"
#include "tunebench/search/internal/stoppers.h"

namespace tunebench::search {
namespace {

using Kind = ParameterRule::Kind;

constexpr double kLeastInformation = 1e-4;
constexpr double kImportantShare = 0.8;
constexpr std::size_t kFewestImportant = 2;

/// What the first n valid trials say of the dimensions.
struct Information {
  std::vector<double> nats;           ///< of each dimension about the cluster of the metric
  std::vector<std::size_t> ranks;     ///< 1 is the highest; equal ones share the larger number
  std::vector<std::size_t> selected;  ///< the important dimensions, sorted
  double entropy = 0;
};

std::vector<std::size_t> ranks_of(const std::vector<double>& nats) {
  std::vector<std::size_t> ranks;
  for (const double own : nats) {
    ranks.push_back(static_cast<std::size_t>(
        std::ranges::count_if(nats, [own](double other) { return other >= own; })));
  }
  return ranks;
}

/// The fewest dimensions, two if there are, that hold most of the information.
std::vector<std::size_t> important(const std::vector<double>& nats) {
  std::vector<std::size_t> order(nats.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&nats](std::size_t i) { return nats[i]; });
  const double total = std::accumulate(nats.begin(), nats.end(), 0.0);
  std::vector<std::size_t> chosen;
  double sum = 0;
  for (const std::size_t dimension : order) {
    const bool enough = chosen.size() >= kFewestImportant && sum >= kImportantShare * total;
    if (enough || nats[dimension] <= kLeastInformation) {
      break;
    }
    chosen.push_back(dimension);
    sum += nats[dimension];
  }
  std::ranges::sort(chosen);
  return chosen;
}

/// Stops when new trials no longer change what is known about which dimensions matter.
class InformationGain final : public Stopper {
 public:
  InformationGain(const Parameters& parameters, const StopContext& context)
      : space_(*context.space),
        limit_(parameters.number("mi_diff_limit")),
        needed_(parameters.count("samples_below_limit")),
        by_set_(parameters.flag("consider_pareto_front_convergence")) {
    for (std::size_t i = 0; i < space_.dimensions().size(); ++i) {
      if (space_.dimensions()[i].values.size() > 1) {
        dimensions_.push_back(i);
      }
    }
  }

  [[nodiscard]] StopReport report(std::span<const Observation> history) const override {
    const Trials trials = valid_trials(history);
    const std::size_t least = 2 * dimensions_.size();
    StopReport report{
        .name = "InformationGainStopper",
        .stop = false,
        .text = fmt::format("{} valid trials, {} needed", trials.values.size(), least),
        .numbers = Json::object()};
    report.numbers.set("count", static_cast<std::int64_t>(trials.values.size()));
    if (trials.values.size() >= least && !dimensions_.empty()) {
      judge(trials, least, report);
    }
    return report;
  }

 private:
  struct Trials {
    std::vector<double> values;
    std::vector<std::vector<std::size_t>> levels;  ///< for each dimension with a choice
  };

  [[nodiscard]] Trials valid_trials(std::span<const Observation> history) const {
    Trials trials;
    trials.levels.resize(dimensions_.size());
    for (const Observation& trial : history) {
      const double value = metric_of(trial, 0);
      if (!std::isfinite(value)) {
        continue;
      }
      trials.values.push_back(value);
      const std::vector<std::size_t> coordinates = space_.coordinates(trial.point);
      for (std::size_t i = 0; i < dimensions_.size(); ++i) {
        trials.levels[i].push_back(coordinates[dimensions_[i]]);
      }
    }
    return trials;
  }

  /// nullopt when the metric cannot be cut into clusters.
  [[nodiscard]] std::optional<Information> information_of(const Trials& trials,
                                                          std::size_t count) const {
    const auto clusters = best_clusters(std::span(trials.values).first(count));
    if (!clusters) {
      return std::nullopt;
    }
    Information information;
    for (const std::vector<std::size_t>& levels : trials.levels) {
      information.nats.push_back(mutual_information(std::span(levels).first(count), *clusters));
    }
    information.ranks = ranks_of(information.nats);
    information.selected = important(information.nats);
    information.entropy = entropy(*clusters);
    return information;
  }

  [[nodiscard]] double largest_change(const Information& before, const Information& now) const {
    double change = 0;
    for (std::size_t i = 0; i < now.nats.size(); ++i) {
      change = std::max(change, std::abs(now.nats[i] - before.nats[i]));
    }
    return change;
  }

  [[nodiscard]] bool same_ranking(const Information& before, const Information& now) const {
    return now.ranks == before.ranks ||
           (by_set_ && std::ranges::includes(before.selected, now.selected));
  }

  /// Counters need the last few trials only: a stop says that so many in a row agree.
  void judge(const Trials& trials, std::size_t least, StopReport& report) const {
    const std::size_t count = trials.values.size();
    const auto reach = static_cast<std::size_t>(needed_);
    std::size_t first = least;
    if (count - least > reach) {
      first = count - reach;
    }
    std::optional<Information> before = information_of(trials, first);
    std::int64_t below = 0;
    std::int64_t unchanged = 0;
    double change = 0;
    for (std::size_t n = first + 1; n <= count; ++n) {
      std::optional<Information> now = information_of(trials, n);
      const bool both = before && now;
      change = both ? largest_change(*before, *now) : 0.0;
      below = both && change < limit_ ? below + 1 : 0;
      unchanged = both && same_ranking(*before, *now) ? unchanged + 1 : 0;
      before = std::move(now);
    }
    if (!before) {
      report.text = "not converged: the metric does not fall into clusters";
      return;
    }
    report.stop = below >= needed_ && unchanged >= needed_;
    report.text = fmt::format(
        "{} trials in a row changed the information by less than {}, {} left the ranking as it "
        "was, "
        "{} needed",
        below, shortest(limit_), unchanged, needed_);
    report.numbers.set("below_limit", below);
    report.numbers.set("ranking_unchanged", unchanged);
    report.numbers.set("samples_below_limit", needed_);
    report.numbers.set("last_change", change);
    report.numbers.set("entropy", before->entropy);
    report.numbers.set("dimensions", table_of(*before));
  }

  /// dimension, rank, mi, uncertainty_percent, selected; highest rank first.
  [[nodiscard]] Json table_of(const Information& information) const {
    std::vector<std::size_t> order(dimensions_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return information.ranks[i]; });
    Json table = Json::array();
    for (const std::size_t i : order) {
      Json row = Json::object();
      row.set("dimension", space_.dimensions()[dimensions_[i]].name);
      row.set("rank", static_cast<std::int64_t>(information.ranks[i]));
      row.set("mi", information.nats[i]);
      row.set("uncertainty_percent",
              information.entropy > 0 ? 100 * information.nats[i] / information.entropy : 0.0);
      row.set("selected", std::ranges::binary_search(information.selected, i));
      table.push_back(std::move(row));
    }
    return table;
  }

  const FiniteSpace& space_;
  double limit_;
  std::int64_t needed_;
  bool by_set_;
  std::vector<std::size_t> dimensions_;
};

}  // namespace

std::vector<StopperKind> information_gain_stoppers() {
  return {
      {"InformationGainStopper",
       {{"mi_diff_limit", Kind::Positive},
        {"samples_below_limit", Kind::Count},
        {"consider_pareto_front_convergence", Kind::Flag}},
       [](const Parameters& parameters, const StopContext& context) -> std::unique_ptr<Stopper> {
         TB_CHECK(context.space != nullptr);
         return std::make_unique<InformationGain>(parameters, context);
       }}};
}

}  // namespace tunebench::search
