#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tunebench/campaign/plan.h"
#include "tunebench/campaign/resolver.h"
#include "tunebench/record/record.h"
#include "tunebench/search/searcher.h"
#include "tunebench/search/stopper.h"
#include "tunebench/space/space.h"

namespace tunebench::campaign {

/// A point of a search and the training steps it is tried for; 0: as many as it asks for.
struct Place {
  search::Point point = 0;
  std::int64_t budget = 0;
  friend auto operator<=>(const Place&, const Place&) = default;
};

/// The space of a request as a search sees it: points are made when they are asked for.
class Search {
 public:
  /// Mistakes are told; with one it is not to be used. Looks at the first points for mistakes in
  /// what they name.
  Search(Request request, space::Space space, Machine machine, Diagnostics& problems);

  [[nodiscard]] const search::Searcher& searcher() const { return *searcher_; }
  /// Objectives of a valid record; NaN for one that it does not have.
  [[nodiscard]] std::vector<double> objectives(const record::Record& record) const;
  /// What an hour of the point's GPUs, or of the machine, costs; 0 without a price.
  [[nodiscard]] double hourly_cost(const record::Record& record) const;

  /// Reports of the stoppers that look at trials and of those that look at each measurement.
  [[nodiscard]] std::vector<search::StopReport> reports(
      std::span<const search::Observation> trials,
      std::span<const search::Observation> measurements) const;

  /// Errors: InvalidInput when something that the point names is wrong.
  const PlannedPoint& resolve(const Place& place);
  /// Where a record of this space belongs; nullopt for one of another.
  [[nodiscard]] std::optional<Place> place_of(const record::Record& record) const;
  /// At most so many points are visited.
  [[nodiscard]] std::int64_t most_points() const;
  [[nodiscard]] const std::vector<PlannedPoint>& looked_at() const { return looked_at_; }

 private:
  [[nodiscard]] space::Digits digits_of(search::Point point) const;
  [[nodiscard]] search::FiniteSpace finite_space() const;
  void make_searcher(Diagnostics& problems);
  void make_stoppers(Diagnostics& problems);
  void look_for_mistakes(Diagnostics& problems);

  Request request_;
  space::Space space_;
  Machine machine_;
  search::FiniteSpace finite_;
  Diagnostics found_;  ///< by the resolver, at a time
  Resolver resolver_;
  std::unique_ptr<search::Searcher> searcher_;
  std::vector<std::unique_ptr<search::Stopper>> stoppers_;
  std::vector<std::unique_ptr<search::Stopper>> interval_stoppers_;
  std::map<Place, PlannedPoint> resolved_;
  std::vector<PlannedPoint> looked_at_;
};

/// Whether the request chooses its points or its end by what was measured before.
bool is_search(const Request& request);

}  // namespace tunebench::campaign
