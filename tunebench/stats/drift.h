#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tunebench::stats {

/// What one point measured, and in which round.
struct Series {
  std::vector<double> values;  ///< above 0
  std::vector<double> rounds;  ///< as many as values
};

/// A trend over the rounds that all points share.
struct Drift {
  double per_round = 0;  ///< relative: -0.01 is one percent less with every round
  double p = 1;          ///< two-sided, of per_round being 0
  double degrees = 0;
};

/// Least squares over the logarithms of the values with a mean for each point and one common
/// slope, tested with Student's t: degrees = values - points - 1. It takes for granted that the
/// relative noise of the points is about the same. nullopt with fewer than two degrees, or when no
/// point was measured in two rounds: then nothing can be said.
/// Errors: Internal when a value is not above 0 or the counts differ.
/// Source: analysis of covariance, Draper and Smith 1998, "Applied regression analysis", ch. 14.
std::optional<Drift> drift(std::span<const Series> points);

}  // namespace tunebench::stats
