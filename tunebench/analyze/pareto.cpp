#include "tunebench/analyze/pareto.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tunebench/base/error.h"

namespace tunebench::analyze {
namespace {

enum class Dominance { None, Near, Clear };

/// How `q` stands to `p`.
Dominance dominance(const std::vector<Figure>& q, const std::vector<Figure>& p,
                    std::span<const Objective> objectives) {
  bool better = false;
  bool clear = false;
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const double gain = objectives[i].maximise ? q[i].value - p[i].value : p[i].value - q[i].value;
    if (gain < 0) {
      return Dominance::None;
    }
    better = better || gain > 0;
    clear = clear || gain > std::hypot(q[i].half_width, p[i].half_width);
  }
  return clear ? Dominance::Clear : better ? Dominance::Near : Dominance::None;
}

void mark_knee(std::span<const std::vector<Figure>> points, std::span<const Objective> objectives,
               std::vector<ParetoPoint>& result) {
  constexpr std::ptrdiff_t kFewest = 3;
  const auto on_front = [](const ParetoPoint& point) { return point.on_front; };
  if (std::count_if(result.begin(), result.end(), on_front) < kFewest || objectives.size() < 2) {
    return;
  }
  std::vector<double> distances(points.size(), 0.0);
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    double low = std::numeric_limits<double>::infinity();
    double high = -low;
    for (std::size_t p = 0; p < points.size(); ++p) {
      if (result[p].on_front) {
        low = std::min(low, points[p][i].value);
        high = std::max(high, points[p][i].value);
      }
    }
    for (std::size_t p = 0; p < points.size() && high > low; ++p) {
      const double best = objectives[i].maximise ? high : low;
      const double share = (points[p][i].value - best) / (high - low);
      distances[p] += share * share;
    }
  }
  std::size_t knee = points.size();
  for (std::size_t p = 0; p < points.size(); ++p) {
    if (result[p].on_front && (knee == points.size() || distances[p] < distances[knee])) {
      knee = p;
    }
  }
  result[knee].knee = true;
}

}  // namespace

std::vector<ParetoPoint> pareto(std::span<const std::vector<Figure>> points,
                                std::span<const Objective> objectives) {
  std::vector<ParetoPoint> result(points.size());
  for (std::size_t p = 0; p < points.size(); ++p) {
    TB_CHECK(points[p].size() == objectives.size());
    for (std::size_t q = 0; q < points.size(); ++q) {
      const Dominance found =
          p == q ? Dominance::None : dominance(points[q], points[p], objectives);
      // The first that dominates clearly is named; failing that, the first that is near.
      if (found == Dominance::Clear) {
        result[p] = {.on_front = false, .near = false, .dominated_by = q};
        break;
      }
      if (found == Dominance::Near && !result[p].near) {
        result[p] = {.on_front = true, .near = true, .dominated_by = q};
      }
    }
  }
  mark_knee(points, objectives, result);
  return result;
}

}  // namespace tunebench::analyze
