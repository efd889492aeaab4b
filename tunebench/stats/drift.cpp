#include "tunebench/stats/drift.h"

#include <cmath>

#include "tunebench/base/error.h"
#include "tunebench/stats/summary.h"

namespace tunebench::stats {
namespace {

/// Sums over all points of the products of what lies around each point's means.
struct Sums {
  double rounds = 0;  ///< round x round
  double both = 0;    ///< round x log value
  double values = 0;  ///< log value x log value
  double free = -1;   ///< values - points - 1

  void add(const Series& point) {
    TB_CHECK(point.values.size() == point.rounds.size());
    if (point.values.empty()) {
      return;
    }
    std::vector<double> logarithms;
    for (const double value : point.values) {
      TB_CHECK(value > 0);
      logarithms.push_back(std::log(value));
    }
    const double round_mean = mean(point.rounds);
    const double value_mean = mean(logarithms);
    for (std::size_t i = 0; i < logarithms.size(); ++i) {
      const double round = point.rounds[i] - round_mean;
      const double value = logarithms[i] - value_mean;
      rounds += round * round;
      both += round * value;
      values += value * value;
    }
    free += static_cast<double>(logarithms.size() - 1);
  }
};

}  // namespace

std::optional<Drift> drift(std::span<const Series> points) {
  Sums sums;
  for (const Series& point : points) {
    sums.add(point);
  }
  if (sums.free < 2 || sums.rounds <= 0) {
    return std::nullopt;
  }
  const double slope = sums.both / sums.rounds;
  Drift result{.per_round = std::expm1(slope), .p = 1, .degrees = sums.free};
  const double rest = std::max(0.0, sums.values - slope * sums.both);
  const double error = std::sqrt(rest / sums.free / sums.rounds);
  if (error > 0) {
    result.p = student_t_two_sided(slope / error, sums.free);
  } else if (slope != 0) {
    result.p = 0;  // every value lies on the line
  }
  return result;
}

}  // namespace tunebench::stats
