#include "tunebench/analyze/best.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tunebench::analyze {

std::optional<Best> best_of(std::span<const Figure> points, bool maximise, double practical) {
  if (points.empty()) {
    return std::nullopt;
  }
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return maximise ? points[a].value > points[b].value : points[a].value < points[b].value;
  });
  Best result{.best = order.front()};
  const Figure& best = points[result.best];
  if (order.size() > 1) {
    result.next = order[1];
    if (best.value != 0) {
      result.next_change = (points[order[1]].value - best.value) / best.value;
    }
  }
  for (std::size_t place = 1; place < order.size(); ++place) {
    const Figure& other = points[order[place]];
    const double gap = std::abs(other.value - best.value);
    if (gap < practical * std::abs(best.value) || gap <= best.half_width + other.half_width) {
      result.tied.push_back(order[place]);
    }
  }
  return result;
}

}  // namespace tunebench::analyze
