#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/record/record.h"
#include "tunebench/store/store.h"

namespace tunebench::report {

/// All attempts at one point.
struct PointSummary {
  experiment::Inputs inputs;
  std::vector<double> rates = {};         ///< tokens_per_s of the valid attempts
  double median = 0;                      ///< of rates; the headline
  double mean = 0;                        ///< of rates
  std::optional<double> half_width = {};  ///< of the 95 % interval around the mean; absent: n < 2
  std::optional<std::int64_t> peak_bytes = {};  ///< largest of the valid attempts
  std::int64_t reused = 0;                      ///< valid attempts that were made by an earlier run
  std::vector<record::Record> failures = {};    ///< attempts without a number
  bool random_weights = false;                  ///< of a preset
  std::string warmup = {};                      ///< "capped" or "short" when one attempt says so
  double throttled_percent = 0;                 ///< largest of the valid attempts
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(rates.size()); }
  /// "ok", "ok, throttled 6 %", "ok, 1 crashed", or outcome and reason.
  [[nodiscard]] std::string status() const;
};

/// One summary per point, in the order in which the points first occur.
std::vector<PointSummary> summarise(std::span<const store::RunRecord> records);

/// The option that people type for an input: model_name -> "model".
std::string short_input_name(std::string_view property);

/// Names of inputs that differ between the points, in the order of the property table; the required
/// ones when nothing differs.
std::vector<std::string> varying_inputs(std::span<const experiment::Inputs> points);

/// "length=1024 batch=4".
std::string point_title(const experiment::Inputs& inputs, std::span<const std::string> names);

/// Text of an input's value for people: strings without quotes.
std::string input_text(const Json& value);

/// The table of a run: inputs that vary, tokens/s, interval, n, peak memory, status; then the best
/// point and what a reader must know about the numbers.
std::string result_text(std::span<const PointSummary> points);

/// The points as a JSON array: inputs, n, tokens_per_s with its interval, status.
Json result_json(std::span<const PointSummary> points);

}  // namespace tunebench::report
