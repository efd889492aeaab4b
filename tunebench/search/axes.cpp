#include "tunebench/search/internal/axes.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace tunebench::search {
namespace {

constexpr double kTwoDecades = 100;

/// Variance of the gaps between sorted values over their squared mean: 0 for even spacing.
double unevenness(std::vector<double> values) {
  std::ranges::sort(values);
  std::adjacent_difference(values.begin(), values.end(), values.begin());
  values.erase(values.begin());
  const double mean =
      std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  double squares = 0;
  for (const double gap : values) {
    squares += (gap / mean - 1) * (gap / mean - 1);
  }
  return squares;
}

void place_values(Axis& axis, std::vector<double> values) {
  const auto [low, high] = std::ranges::minmax(values);
  if (low > 0 && high > low) {
    std::vector<double> logs(values.size());
    std::ranges::transform(values, logs.begin(), [](double value) { return std::log(value); });
    if (high / low >= kTwoDecades || unevenness(logs) < unevenness(values)) {
      values = std::move(logs);
    }
  }
  const auto [first, last] = std::ranges::minmax(values);
  for (const double value : values) {
    axis.place.push_back(last > first ? (value - first) / (last - first) : 0.0);
  }
}

}  // namespace

double Axis::distance(std::size_t first, std::size_t second) const {
  if (ordered) {
    return std::abs(place[first] - place[second]);
  }
  return first == second ? 0.0 : 1.0;
}

std::vector<Axis> axes_of(const FiniteSpace& space) {
  std::vector<Axis> axes;
  for (const Dimension& dimension : space.dimensions()) {
    Axis& axis = axes.emplace_back();
    axis.levels = dimension.values.size();
    axis.ordered = std::ranges::all_of(dimension.values, [](const Json& value) {
      return value.is_number() && std::isfinite(value.as_double());
    });
    if (axis.ordered) {
      std::vector<double> values;
      for (const Json& value : dimension.values) {
        values.push_back(value.as_double());
      }
      place_values(axis, std::move(values));
    }
  }
  return axes;
}

}  // namespace tunebench::search
