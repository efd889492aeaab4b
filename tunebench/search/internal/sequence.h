#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "tunebench/search/history.h"
#include "tunebench/search/space.h"

namespace tunebench::search {

using PointSet = std::unordered_set<Point>;

/// Points that were measured or are being measured.
PointSet taken_points(std::span<const Observation> history, std::span<const Pending> pending);

/// A fixed order of points, filtered: each allowed point once. What was found is kept, so a rule is
/// asked once a position. Threads: any.
class Sequence {
 public:
  /// position -> point; may name a point more than once.
  using Order = std::function<Point(std::uint64_t position)>;

  /// An order of `length` positions. When `rest` is given and 200 positions in a row brought no new
  /// point, the remaining ones come from `rest`, which has one position for each point of the
  /// space.
  Sequence(const FiniteSpace& space, Order order, std::uint64_t length, Order rest = {});

  /// The first allowed point that is not in `taken`; nullopt when there is none.
  /// Errors: InvalidInput when the rule refused 10 million points in a row.
  std::optional<Point> first_not_in(const PointSet& taken);

 private:
  std::optional<Point> extend();
  bool offer(Point point);
  void check_refused(std::uint64_t stale) const;

  const FiniteSpace& space_;
  Order order_;
  std::uint64_t length_;
  Order rest_;
  std::mutex mutex_;
  std::vector<Point> found_;
  PointSet known_;
  std::uint64_t position_ = 0;
  bool in_rest_ = false;
};

}  // namespace tunebench::search
