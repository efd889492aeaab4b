#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "tunebench/search/internal/axes.h"
#include "tunebench/search/internal/permutation.h"
#include "tunebench/search/space.h"

namespace tunebench::search {

/// Points that a model scores: every allowed point of a space that can be gone through, else a
/// seeded draw and the neighbours of the best known points. Threads: any.
class Candidates {
 public:
  Candidates(const FiniteSpace& space, std::uint64_t seed);

  /// `choice` numbers the draw. Each point once, allowed. Empty when the draw found none.
  std::vector<Point> draw(std::uint64_t choice, std::span<const Point> best);

 private:
  const std::vector<Point>& all();

  const FiniteSpace& space_;
  std::uint64_t seed_;
  Permutation shuffle_;
  std::mutex mutex_;
  std::optional<std::vector<Point>> all_;  ///< allowed points, once a small space was gone through
};

}  // namespace tunebench::search
