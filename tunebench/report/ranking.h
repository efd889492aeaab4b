#pragma once

#include <span>
#include <string>
#include <vector>

#include "tunebench/analyze/best.h"
#include "tunebench/analyze/pareto.h"
#include "tunebench/base/json.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::report {

/// Points and their figures, one per objective.
struct RankedPoints {
  std::string origin;  ///< run, or "all runs"
  std::vector<analyze::Objective> objectives;
  std::vector<experiment::Inputs> inputs;
  std::vector<std::vector<analyze::Figure>> figures;
  std::size_t left_out = 0;  ///< points without a value of an objective
};

/// A line per point: inputs that vary, figures, whether it is on the front, and who dominates it.
std::string pareto_text(const RankedPoints& points, std::span<const analyze::ParetoPoint> front);
/// Schema "tunebench.pareto/1".
Json pareto_json(const RankedPoints& points, std::span<const analyze::ParetoPoint> front);

/// The best of one group of points.
struct BestOfGroup {
  Json::Array group;                 ///< values of --group-by
  std::vector<std::size_t> members;  ///< indices of points; `best` counts in these
  analyze::Best best;
};

/// "best tokens_per_s: length=1024 batch=8 (71,480; next is length=512 batch=8: 63,940, -10.5 %)",
/// a line per group, and what is tied with it.
std::string best_text(const RankedPoints& points, std::span<const std::string> group_names,
                      std::span<const BestOfGroup> groups);
/// Schema "tunebench.best/1".
Json best_json(const RankedPoints& points, std::span<const std::string> group_names,
               std::span<const BestOfGroup> groups);

}  // namespace tunebench::report
