#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tunebench/stats/summary.h"

namespace tunebench::stats {

/// Welch's test of two means whose variances may differ. Differences are second minus first.
struct Welch {
  double difference = 0;
  double t = 0;  ///< infinite when the values do not vary at all and the means differ
  double degrees = 0;
  double p = 1;       ///< two-sided
  Interval interval;  ///< of the difference
};
/// nullopt when either side has fewer than two values. Values must be finite.
/// Source: Welch 1947, "The generalization of Student's problem when several different population
/// variances are involved"; degrees by Satterthwaite.
std::optional<Welch> welch(std::span<const double> first, std::span<const double> second,
                           double confidence = 0.95);

/// Two-sided p of the Mann-Whitney U test; ties get their mean rank. Exact over all ways to deal
/// the ranks while both sides together have at most 40 values, else the normal approximation with
/// corrections for ties and continuity. Errors: Internal when a side is empty.
/// With three against three it cannot go below 0.1, with four against four not below 0.0286.
double mann_whitney_p(std::span<const double> first, std::span<const double> second);

/// p-values corrected for being several, in the order given.
/// Source: Holm 1979, "A simple sequentially rejective multiple test procedure".
std::vector<double> holm(std::span<const double> p_values);

/// exp of the mean logarithm; values above 0. Errors: Internal for none or for a value of 0 or
/// less.
double geometric_mean(std::span<const double> values);

enum class Verdict {
  TooFew,  ///< a side has fewer than two values
  Same,    ///< the difference is below the practical limit, or its interval contains 0
  Faster,
  Slower,
};
std::string_view verdict_name(Verdict verdict);  ///< too few, same, faster, slower

/// What two sets of rates (higher is better) say.
struct Comparison {
  double first_mean = 0;
  double second_mean = 0;
  double ratio = 0;                      ///< second_mean / first_mean
  std::optional<Welch> welch;            ///< when both have two values
  std::optional<Interval> relative;      ///< welch->interval / first_mean
  std::optional<double> mann_whitney_p;  ///< a second opinion, when both have four values
  Verdict verdict = Verdict::TooFew;
};
/// `practical` is the share of the first mean below which a difference does not matter.
/// Errors: Internal when a side is empty, a value is not finite or the first mean is not above 0.
Comparison compare_rates(std::span<const double> first, std::span<const double> second,
                         double practical = 0.01);

}  // namespace tunebench::stats
