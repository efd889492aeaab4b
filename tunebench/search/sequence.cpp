#include "tunebench/search/internal/sequence.h"

#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"

namespace tunebench::search {
namespace {

constexpr std::uint64_t kMostRefused = 10'000'000;
constexpr std::uint64_t kMostStale = 200;

}  // namespace

PointSet taken_points(std::span<const Observation> history, std::span<const Pending> pending) {
  PointSet taken;
  taken.reserve(history.size() + pending.size());
  for (const Observation& observation : history) {
    taken.insert(observation.point);
  }
  for (const Pending& one : pending) {
    taken.insert(one.point);
  }
  return taken;
}

Sequence::Sequence(const FiniteSpace& space, Order order, std::uint64_t length, Order rest)
    : space_(space), order_(std::move(order)), length_(length), rest_(std::move(rest)) {}

std::optional<Point> Sequence::first_not_in(const PointSet& taken) {
  const std::scoped_lock lock(mutex_);
  for (const Point point : found_) {
    if (!taken.contains(point)) {
      return point;
    }
  }
  while (const std::optional<Point> point = extend()) {
    if (!taken.contains(*point)) {
      return point;
    }
  }
  return std::nullopt;
}

/// True when the point is allowed and new.
bool Sequence::offer(Point point) {
  // An order that may name a point twice is the only one that has a rest.
  if (rest_ && known_.contains(point)) {
    return false;
  }
  if (!space_.allowed(point)) {
    return false;
  }
  found_.push_back(point);
  if (rest_) {
    known_.insert(point);
  }
  return true;
}

void Sequence::check_refused(std::uint64_t stale) const {
  if (stale >= kMostRefused) {
    throw Error(
        ErrorCode::InvalidInput,
        fmt::format("the rules forbid {} points in a row of {}; loosen a rule or list fewer "
                    "values",
                    stale, space_.size()));
  }
}

std::optional<Point> Sequence::extend() {
  for (std::uint64_t stale = 0; !in_rest_; ++stale) {
    if (position_ >= length_ || (rest_ && stale >= kMostStale)) {
      in_rest_ = true;
      position_ = 0;
      break;
    }
    check_refused(stale);
    const Point point = order_(position_++);
    if (offer(point)) {
      return point;
    }
  }
  for (std::uint64_t stale = 0; rest_ && position_ < space_.size(); ++stale) {
    check_refused(stale);
    const Point point = rest_(position_++);
    if (offer(point)) {
      return point;
    }
  }
  return std::nullopt;
}

}  // namespace tunebench::search
