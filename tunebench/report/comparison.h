#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tunebench/analyze/compare.h"
#include "tunebench/analyze/gate.h"
#include "tunebench/base/json.h"

namespace tunebench::report {

/// What a comparison is told with.
struct ComparisonReport {
  std::string first_name;  ///< run, or "baseline NAME (RUN)"
  std::string second_name;
  std::string first_started_at;  ///< ISO time, or empty
  std::string second_started_at;
  std::int64_t now = 0;  ///< seconds since 1970, for ages
  const analyze::Comparison* comparison = nullptr;
  std::vector<std::size_t> shown;  ///< indices of its points, in the order of the table
  std::vector<analyze::GateResult> gates;
};

/// "3 d ago", "5 min ago", "now".
std::string age_text(std::int64_t seconds);

/// What --sort and --top of a comparison may name: inputs, and of the metric a, b, ratio, ci_lo,
/// ci_hi (of the ratio), p (corrected), n_a, n_b, verdict. One row per point, in its order.
std::vector<Json> comparison_rows(const analyze::Comparison& comparison);
Json comparison_columns();

/// Header, differences of the environments, one line per point, notes, and what it comes to.
std::string comparison_text(const ComparisonReport& report);
/// The same as GitHub-style Markdown.
std::string comparison_markdown(const ComparisonReport& report);
/// Schema "tunebench.compare/1": every number of docs/compare.md.
Json comparison_json(const ComparisonReport& report);
/// JUnit XML: a test case per gate and point (without gates per point), a failure for each that
/// failed, skipped for each that is uncertain.
std::string comparison_junit(const ComparisonReport& report);

}  // namespace tunebench::report
