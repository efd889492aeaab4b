#include "tunebench/search/internal/model_searcher.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/random.h"
#include "tunebench/base/text.h"
#include "tunebench/search/internal/candidates.h"
#include "tunebench/search/internal/order_searcher.h"
#include "tunebench/search/internal/sequence.h"
#include "tunebench/search/internal/streams.h"

namespace tunebench::search {
namespace {

/// A model that guesses early loses little and often wins much; see docs/search.md.
constexpr std::size_t kStartup = 4;
constexpr std::size_t kBestWithNeighbours = 4;

class ModelSearcher final : public Searcher {
 public:
  ModelSearcher(const SearchConfig& config, const FiniteSpace& space, std::uint64_t seed,
                std::unique_ptr<Surrogate> surrogate)
      : config_(with_startup(config)),
        space_(space),
        seed_(seed),
        axes_(axes_of(space)),
        surrogate_(std::move(surrogate)),
        candidates_(std::make_unique<Candidates>(space, seed)),
        start_(make_sequence(config_, space, seed)) {}

  [[nodiscard]] std::optional<Choice> next(std::span<const Observation> history,
                                           std::span<const Pending> pending) const override {
    const PointSet taken = taken_points(history, pending);
    std::vector<Outcome> outcomes = outcomes_of(history, config_.directions);
    const bool known = std::ranges::any_of(outcomes, [](const Outcome& o) { return !o.failed; });
    if (taken.size() < config_.startup || !known) {
      return from_start(taken, "start");
    }
    const Evidence evidence = evidence_of(std::move(outcomes), pending);
    std::vector<Point> best;
    for (std::size_t i = 0; i < std::min(kBestWithNeighbours, evidence.order.size()); ++i) {
      best.push_back(evidence.outcomes[evidence.order[i]].point);
    }
    const std::uint64_t number = history.size() + pending.size();
    const std::vector<Point> points = candidates_->draw(number, best);
    std::vector<Coordinates> coordinates;
    coordinates.reserve(points.size());
    for (const Point point : points) {
      coordinates.push_back(space_.coordinates(point));
    }
    const std::vector<double> scores = surrogate_->score(axes_, evidence, coordinates);
    PointSet closed = taken;
    if (config_.extra_repeats) {
      closed = taken_points({}, pending);
    }
    return choose(points, scores, closed, taken, number);
  }

 private:
  static SearchConfig with_startup(SearchConfig config) {
    config.startup = config.startup > 0 ? config.startup : kStartup;
    return config;
  }

  [[nodiscard]] std::optional<Choice> from_start(const PointSet& taken, const char* why) const {
    const std::optional<Point> point = start_->first_not_in(taken);
    if (!point) {
      return std::nullopt;
    }
    return Choice{.point = *point, .budget = 0, .why = why, .repeats_replaced = 0};
  }

  [[nodiscard]] Evidence evidence_of(std::vector<Outcome> outcomes,
                                     std::span<const Pending> pending) const {
    Evidence evidence;
    evidence.reference = reference_losses(outcomes, config_.directions, config_.reference);
    evidence.order = best_first(outcomes, evidence.reference);
    evidence.outcomes = std::move(outcomes);
    for (const Outcome& outcome : evidence.outcomes) {
      evidence.measured.push_back(space_.coordinates(outcome.point));
    }
    for (const Pending& one : pending) {
      evidence.pending.push_back(space_.coordinates(one.point));
    }
    return evidence;
  }

  /// Of equally good ones, a seeded draw.
  [[nodiscard]] std::optional<Choice> choose(const std::vector<Point>& points,
                                             const std::vector<double>& scores,
                                             const PointSet& closed, const PointSet& taken,
                                             std::uint64_t number) const {
    std::optional<std::size_t> best;
    double best_tie = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (closed.contains(points[i])) {
        continue;
      }
      const double tie = uniform(seed_, stream::kTies + number, points[i]);
      if (!best || scores[i] > scores[*best] || (scores[i] == scores[*best] && tie > best_tie)) {
        best = i;
        best_tie = tie;
      }
    }
    if (!best) {
      return from_start(taken, "what is left");
    }
    Choice choice{.point = points[*best], .budget = 0, .why = {}, .repeats_replaced = 0};
    for (std::size_t i = 0; i < points.size(); ++i) {
      choice.repeats_replaced += closed.contains(points[i]) && scores[i] > scores[*best] ? 1 : 0;
    }
    choice.why = fmt::format("best of {} by {}{}", points.size(), method_name(config_.method),
                             taken.contains(choice.point) ? ", measured before" : "");
    return choice;
  }

  SearchConfig config_;
  const FiniteSpace& space_;
  std::uint64_t seed_;
  std::vector<Axis> axes_;
  std::unique_ptr<Surrogate> surrogate_;
  std::unique_ptr<Candidates> candidates_;
  std::unique_ptr<Sequence> start_;
};

}  // namespace

std::unique_ptr<Searcher> make_model_searcher(const SearchConfig& config, const FiniteSpace& space,
                                              std::uint64_t seed,
                                              std::unique_ptr<Surrogate> surrogate) {
  return std::make_unique<ModelSearcher>(config, space, seed, std::move(surrogate));
}

}  // namespace tunebench::search
