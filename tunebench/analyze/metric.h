#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/record/record.h"

namespace tunebench::analyze {

/// A figure that can be better or worse: a field of records with a better direction, or
/// peak_mem_gib.
struct Metric {
  std::string name;
  std::string unit;  ///< "tokens/s", or empty
  bool higher_is_better = true;

  /// A rate: what is better is faster.
  [[nodiscard]] bool is_rate() const { return unit.ends_with("/s"); }
  /// Of a valid record; nullopt when it was not measured or is not finite.
  [[nodiscard]] std::optional<double> of(const record::Record& record) const;
};

std::optional<Metric> find_metric(std::string_view name);
/// Names of all, the headline first.
const std::vector<std::string>& metric_names();

}  // namespace tunebench::analyze
