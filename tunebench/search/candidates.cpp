#include "tunebench/search/internal/candidates.h"

#include <algorithm>
#include <unordered_set>

#include "tunebench/base/random.h"
#include "tunebench/search/internal/streams.h"

namespace tunebench::search {
namespace {

constexpr std::uint64_t kMostGoneThrough = std::uint64_t{1} << 20U;
constexpr std::size_t kMostScored = 4096;
constexpr std::size_t kDrawn = 1024;
constexpr std::size_t kMostTries = 64 * 1024;
constexpr std::size_t kMostNeighbours = 64;  // of one point along one dimension

/// Points that differ from `best` in one dimension.
void add_neighbours(const FiniteSpace& space, Point best, std::vector<Point>& points) {
  std::vector<std::size_t> coordinates = space.coordinates(best);
  for (std::size_t i = 0; i < coordinates.size(); ++i) {
    const std::size_t levels = space.dimensions()[i].values.size();
    const std::size_t own = coordinates[i];
    const std::size_t reach = std::min(levels, kMostNeighbours);
    const std::size_t first = std::min(own - std::min(own, reach / 2), levels - reach);
    for (std::size_t level = first; level < first + reach; ++level) {
      coordinates[i] = level;
      points.push_back(space.point(coordinates));
    }
    coordinates[i] = own;
  }
}

}  // namespace

Candidates::Candidates(const FiniteSpace& space, std::uint64_t seed)
    : space_(space), seed_(seed), shuffle_(space.size(), seed, stream::kCandidates) {}

const std::vector<Point>& Candidates::all() {
  const std::scoped_lock lock(mutex_);
  if (!all_) {
    all_.emplace();
    for (Point point = 0; point < space_.size(); ++point) {
      if (space_.allowed(point)) {
        all_->push_back(point);
      }
    }
  }
  return *all_;
}

std::vector<Point> Candidates::draw(std::uint64_t choice, std::span<const Point> best) {
  const bool small = space_.size() <= kMostGoneThrough;
  if (small && all().size() <= kMostScored) {
    return all();
  }
  std::vector<Point> tried;
  for (const Point point : best) {
    add_neighbours(space_, point, tried);
  }
  std::unordered_set<Point> known;
  std::vector<Point> points;
  const auto offer = [&](Point point) {
    if (known.insert(point).second && space_.allowed(point)) {
      points.push_back(point);
    }
  };
  std::ranges::for_each(tried, offer);
  if (small) {
    for (std::uint64_t i = 0; i < kDrawn; ++i) {
      const std::uint64_t place = uniform_int(seed_, stream::kCandidates + choice, i, all().size());
      offer(all()[place]);
    }
    return points;
  }
  const std::uint64_t start = uniform_int(seed_, stream::kCandidates, choice, space_.size());
  const std::size_t wanted = points.size() + kDrawn;
  for (std::uint64_t i = 0; i < kMostTries && points.size() < wanted; ++i) {
    offer(shuffle_.at((start + i) % space_.size()));
  }
  return points;
}

}  // namespace tunebench::search
