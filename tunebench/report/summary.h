#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/analyze/point_names.h"
#include "tunebench/base/json.h"
#include "tunebench/record/record.h"
#include "tunebench/stats/drift.h"
#include "tunebench/store/store.h"

namespace tunebench::report {

/// How often the runs of a point failed, and why. Interrupted runs are not counted.
struct Stability {
  std::int64_t runs = 0;
  std::int64_t gpu_oom = 0;
  std::int64_t host_oom = 0;
  std::int64_t other_error = 0;
  std::int64_t no_error = 0;

  void add(record::Outcome outcome);
  /// Their sum, in this order, is exactly 1 for five runs.
  [[nodiscard]] double f_gpu_oom() const { return share(gpu_oom); }
  [[nodiscard]] double f_host_oom() const { return share(host_oom); }
  [[nodiscard]] double f_other_error() const { return share(other_error); }
  [[nodiscard]] double f_no_error() const { return share(no_error); }
  /// All five runs were made; how they ended does not matter.
  [[nodiscard]] bool is_valid() const { return runs >= 5; }

 private:
  [[nodiscard]] double share(std::int64_t count) const {
    return runs == 0 ? 0.0 : static_cast<double>(count) / static_cast<double>(runs);
  }
};

/// All attempts at one point.
struct PointSummary {
  experiment::Inputs inputs;
  std::vector<double> rates = {};           ///< tokens_per_s of the valid attempts
  std::vector<double> rounds = {};          ///< of rates; 0 for those of an earlier run
  double median = 0;                        ///< of rates; the headline
  double mean = 0;                          ///< of rates
  std::optional<double> half_width = {};    ///< of the 95 % interval around the mean; absent: n < 2
  std::optional<double> cv = {};            ///< sd / mean; absent: n < 2
  std::vector<std::size_t> outliers = {};   ///< indices into rates: marked, never left out
  std::optional<double> cost = {};          ///< median cost_per_mtok, when a price was given
  std::optional<Stability> stability = {};  ///< of a stability experiment
  std::optional<std::int64_t> peak_bytes = {};  ///< largest of the valid attempts
  std::int64_t reused = 0;                      ///< valid attempts that were made by an earlier run
  std::vector<record::Record> failures = {};    ///< attempts without a number
  bool random_weights = false;                  ///< of a preset
  std::string warmup = {};                      ///< "capped" or "short" when one attempt says so
  double throttled_percent = 0;                 ///< largest of the valid attempts
  bool imported = false;                        ///< an attempt was measured by another program
  std::string differences = {};                 ///< in what the trainer's work is another
  std::string stale = {};  ///< "driver 550 -> 570" of an attempt reused although that differs
  [[nodiscard]] std::int64_t count() const { return static_cast<std::int64_t>(rates.size()); }
  /// "ok", "ok, throttled 6 %, 1 outlier, 1 crashed", or outcome and reason.
  [[nodiscard]] std::string status() const;

 private:
  [[nodiscard]] std::string outcome_text() const;
};

/// One summary per point, in the order in which the points first occur.
std::vector<PointSummary> summarise(std::span<const store::RunRecord> records);

using analyze::input_text;
using analyze::point_title;
using analyze::varying_inputs;

/// What the rounds over all points say about the machine; nullopt when they say nothing.
std::optional<stats::Drift> drift_of(std::span<const PointSummary> points);

/// The table of a run: inputs that vary, tokens/s, interval, CV, n, peak memory, status; then the
/// best point and what a reader must know about the numbers. Of a stability experiment: how often
/// the runs of each point failed.
std::string result_text(std::span<const PointSummary> points);

/// Sets runs, the four shares and is_valid.
void add_stability(Json& row, const Stability& stability);

/// The points as a JSON array: inputs, n, tokens_per_s with interval, CV and outliers, status.
Json result_json(std::span<const PointSummary> points);

}  // namespace tunebench::report
