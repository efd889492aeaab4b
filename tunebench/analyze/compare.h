#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/analyze/metric.h"
#include "tunebench/base/diagnostic.h"
#include "tunebench/record/record.h"
#include "tunebench/stats/compare.h"

namespace tunebench::analyze {

enum class Change {
  TooFew,  ///< a side has fewer than two values
  Same,
  Better,
  Worse,
  Failed,  ///< A has values, B was tried and has none
  Fixed,   ///< the other way round
};

/// One point that both sides tried.
struct ComparedPoint {
  experiment::Inputs inputs;           ///< those of A
  std::string experiment;              ///< of A
  std::vector<std::string> differing;  ///< with `by`: "torch_dtype: float32 -> bfloat16"
  std::vector<double> first;           ///< values of A
  std::vector<double> second;
  double first_mean = 0;  ///< of `first`, when there is one
  double second_mean = 0;
  std::optional<double> ratio;              ///< B / A; absent: A's mean is not above 0
  std::optional<stats::Interval> relative;  ///< 95 % interval of (B - A) / A
  std::optional<stats::Welch> welch;        ///< of B - A
  std::optional<double> corrected_p;        ///< Welch's p after Holm, over all points
  std::optional<double> mann_whitney_p;     ///< when both sides have four values
  Change change = Change::TooFew;
  std::string failure;  ///< of Failed and Fixed: outcome and reason
};

/// A point that only one side has.
struct LonePoint {
  experiment::Inputs inputs;
  std::string experiment;
};

struct Comparison {
  Metric metric;
  std::vector<std::string> names;  ///< inputs that tell the points apart, or `by`
  std::vector<ComparedPoint> points;
  std::vector<LonePoint> only_first;
  std::vector<LonePoint> only_second;
  std::vector<std::string> environment;       ///< environment_changes
  std::vector<std::string> environment_full;  ///< environment_differences
  std::size_t shared_records = 0;             ///< measurements that both sides hold
  std::optional<double> geomean;              ///< of the ratios

  [[nodiscard]] std::size_t count(Change change) const;
};

struct CompareRules {
  std::string metric = "tokens_per_s";
  std::vector<std::string> by = {};  ///< inputs (short names too) and "experiment"; empty: all
  double practical = 0.01;           ///< share of A below which a difference does not matter
  bool across = false;               ///< compare results of different hardware, too
};

/// What is wrong with the rules whatever the records are: an unknown metric or input.
void check_rules(const CompareRules& rules, Diagnostics& problems);

/// Joins two sets of records on their inputs and tells for each point whether B is better than A,
/// by docs/compare.md. Failed attempts count only where a side has no value at all.
/// All mistakes are told: those of check_rules, hardware that differs, points that `by` does
/// not tell apart, no point in common. nullopt when there is one.
std::optional<Comparison> compare(std::span<const record::Record> first,
                                  std::span<const record::Record> second, const CompareRules& rules,
                                  Diagnostics& problems);

/// same, faster or slower of a rate, better or worse of others, too few, failed, fixed.
std::string_view change_name(const Metric& metric, Change change);

}  // namespace tunebench::analyze
