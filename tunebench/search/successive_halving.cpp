#include "tunebench/search/internal/successive_halving.h"

#include <algorithm>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/search/internal/order_searcher.h"
#include "tunebench/search/internal/outcomes.h"

namespace tunebench::search {
namespace {

class SuccessiveHalving final : public Searcher {
 public:
  SuccessiveHalving(const SearchConfig& config, const FiniteSpace& space, std::uint64_t seed)
      : config_(config),
        rungs_(rungs(config.min_budget, config.max_budget, config.eta)),
        fresh_(make_sequence(config, space, seed)) {}

  [[nodiscard]] std::optional<Choice> next(std::span<const Observation> history,
                                           std::span<const Pending> pending) const override {
    std::vector<std::vector<Observation>> finished(rungs_.size());
    std::vector<PointSet> known(rungs_.size());
    for (const Observation& observation : history) {
      const std::size_t rung = rung_of(observation.budget);
      finished[rung].push_back(observation);
      known[rung].insert(observation.point);
    }
    for (const Pending& one : pending) {
      known[rung_of(one.budget)].insert(one.point);
    }
    // A point that began on a higher rung needs no lower one.
    for (std::size_t rung = rungs_.size() - 1; rung > 0; --rung) {
      known[rung - 1].insert(known[rung].begin(), known[rung].end());
    }
    const std::optional<Point> fresh = fresh_->first_not_in(known[0]);
    const bool complete = !fresh && pending.empty();
    for (std::size_t rung = rungs_.size() - 1; rung-- > 0;) {
      if (std::optional<Choice> choice =
              promotion(rung, finished[rung], known[rung + 1], complete)) {
        return choice;
      }
    }
    if (!fresh) {
      return std::nullopt;
    }
    return Choice{.point = *fresh,
                  .budget = rungs_[0],
                  .why = fmt::format("new on the first of {} rungs", rungs_.size()),
                  .repeats_replaced = 0};
  }

 private:
  /// The highest rung that `budget` reaches; 0 is the full measurement.
  [[nodiscard]] std::size_t rung_of(std::int64_t budget) const {
    if (budget == 0) {
      return rungs_.size() - 1;
    }
    const auto above = std::ranges::upper_bound(rungs_, budget);
    return above == rungs_.begin() ? 0 : static_cast<std::size_t>(above - rungs_.begin()) - 1;
  }

  [[nodiscard]] std::optional<Choice> promotion(std::size_t rung,
                                                std::span<const Observation> finished,
                                                const PointSet& promoted, bool complete) const {
    const std::vector<Outcome> outcomes = outcomes_of(finished, config_.directions);
    std::size_t quota = outcomes.size() / static_cast<std::size_t>(config_.eta);
    if (complete && quota == 0) {
      quota = 1;
    }
    const std::vector<std::size_t> order =
        best_first(outcomes, reference_losses(outcomes, config_.directions, config_.reference));
    for (std::size_t place = 0; place < std::min(quota, order.size()); ++place) {
      const Outcome& outcome = outcomes[order[place]];
      if (!outcome.failed && !promoted.contains(outcome.point)) {
        return Choice{.point = outcome.point,
                      .budget = rungs_[rung + 1],
                      .why = fmt::format("place {} of {} after {} steps", place + 1, order.size(),
                                         rungs_[rung]),
                      .repeats_replaced = 0};
      }
    }
    return std::nullopt;
  }

  SearchConfig config_;
  std::vector<std::int64_t> rungs_;
  std::unique_ptr<Sequence> fresh_;
};

}  // namespace

std::vector<std::int64_t> rungs(std::int64_t min_budget, std::int64_t max_budget,
                                std::int64_t eta) {
  TB_CHECK(min_budget >= 1 && max_budget >= min_budget && eta >= 2);
  std::vector<std::int64_t> steps = {min_budget};
  while (steps.back() <= (max_budget - 1) / eta) {
    steps.push_back(steps.back() * eta);
  }
  if (steps.back() < max_budget) {
    steps.push_back(max_budget);
  }
  return steps;
}

std::unique_ptr<Searcher> make_successive_halving(const SearchConfig& config,
                                                  const FiniteSpace& space, std::uint64_t seed) {
  return std::make_unique<SuccessiveHalving>(config, space, seed);
}

}  // namespace tunebench::search
