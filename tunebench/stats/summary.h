#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace tunebench::stats {

/// Two ends of an interval.
struct Interval {
  double low = 0;
  double high = 0;
  [[nodiscard]] double half_width() const { return (high - low) / 2.0; }
};

/// What repeated measurements of one number say.
struct Summary {
  std::size_t count = 0;
  double median = 0;
  double mean = 0;
  double min = 0;
  double max = 0;
  std::optional<double> sd;           ///< sample standard deviation; none for one value
  std::optional<double> cv;           ///< sd / |mean|; none for one value or a mean of 0
  std::optional<Interval> interval;   ///< 95 % interval of the mean; none for one value
  std::vector<std::size_t> outliers;  ///< indices into the values; marked, never dropped
};

/// Values must be finite; order does not matter except for the indices of outliers.
/// nullopt for no values at all. Errors: Internal when a value is not finite.
std::optional<Summary> summarize(std::span<const double> values);

/// Middle value, or the mean of the two middle ones. Errors of these functions: Internal when
/// there are too few values (one; two for sample_sd).
double median(std::span<const double> values);
double mean(std::span<const double> values);
/// Divides by n - 1. Sums squares of differences from the mean, never of the values.
double sample_sd(std::span<const double> values);

/// Point below which `probability` of Student's t distribution lies. degrees > 0,
/// 0 < probability < 1.
double student_t_quantile(double probability, double degrees);

/// How likely Student's t is at least as far from 0 as `t`, on either side. degrees > 0.
double student_t_two_sided(double t, double degrees);

/// mean +- t(0.5 + confidence / 2, n - 1) * sd / sqrt(n); nullopt for fewer than two values.
std::optional<Interval> mean_interval(std::span<const double> values, double confidence = 0.95);

/// (value - median) / median(|value - median|); all 0 when the denominator is 0, as then nothing
/// says how far is far.
/// Source: Iglewicz and Hoaglin 1993, "How to detect and handle outliers", without their factor
/// 0.6745.
std::vector<double> modified_z_scores(std::span<const double> values);

/// Value at `share` of the sorted values, linear between neighbours.
/// Source: Hyndman and Fan 1996, definition 7.
double quantile(std::span<const double> values, double share);

/// Indices of values whose modified z-score is beyond 14.826 (ten standard deviations of a normal
/// distribution) or, from four values on, that lie more than three interquartile ranges outside
/// the quartiles.
std::vector<std::size_t> outliers(std::span<const double> values);

}  // namespace tunebench::stats
