#include "tunebench/report/summary.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/core.h>
#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/experiment/experiment.h"
#include "tunebench/experiment/short_name.h"
#include "tunebench/report/text_table.h"
#include "tunebench/stats/summary.h"

namespace tunebench::report {

namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

std::optional<std::int64_t> peak_of(const record::Record& record) {
  for (const char* field : {"device_peak_bytes", "host_peak_bytes"}) {
    const std::optional<double> bytes = record.number(field);
    if (bytes && *bytes > 0) {
      return static_cast<std::int64_t>(*bytes);
    }
  }
  return std::nullopt;
}

void add_attempt(PointSummary& point, const store::RunRecord& attempt) {
  const record::Record& record = attempt.record;
  point.imported = point.imported || record::source_of(record) == record::kImported;
  const experiment::Experiment* experiment = experiment::find_experiment(record.experiment);
  if (experiment != nullptr && experiment->purpose == "Stability") {
    point.stability = point.stability.value_or(Stability{});
    point.stability->add(record.status);
  }
  const std::optional<double> rate = record.number("tokens_per_s");
  if (!record.is_valid() || !rate || !std::isfinite(*rate)) {
    point.failures.push_back(record);
    return;
  }
  point.rates.push_back(*rate);
  point.rounds.push_back(attempt.reused ? 0.0 : static_cast<double>(record.repeat));
  point.reused += attempt.reused ? 1 : 0;
  point.throttled_percent =
      std::max(point.throttled_percent, record.number("gpu_throttled_percent").value_or(0));
  if (const std::optional<std::int64_t> peak = peak_of(record)) {
    point.peak_bytes = std::max(point.peak_bytes.value_or(0), *peak);
  }
  const Json& weights = record.get("weights");
  point.random_weights = weights.is_string() && weights.as_string() == "random";
  const Json& differences = record.get("differences");
  point.differences = differences.is_string() ? differences.as_string() : "";
  const Json& warmup = record.get("warmup");
  if (warmup.is_string() && (warmup.as_string() == "capped" || warmup.as_string() == "short")) {
    point.warmup = warmup.as_string();
  }
}

void add_statistics(PointSummary& point, const std::vector<double>& costs) {
  if (!costs.empty()) {
    point.cost = stats::median(costs);
  }
  const std::optional<stats::Summary> summary = stats::summarize(point.rates);
  if (!summary) {
    return;
  }
  point.median = summary->median;
  point.mean = summary->mean;
  point.cv = summary->cv;
  point.outliers = summary->outliers;
  if (summary->interval) {
    point.half_width = summary->interval->half_width();
  }
}

std::string rate_text(double rate) {
  return rate >= 999.5 ? with_thousands(static_cast<std::int64_t>(std::llround(rate)))
                       : fmt::format("{:.1f}", rate);
}

std::string interval_text(const PointSummary& point) {
  if (point.rates.empty()) {
    return "-";
  }
  if (!point.half_width) {
    return "n=1";
  }
  return fmt::format("±{:.1f} %", 100.0 * *point.half_width / point.mean);
}

std::string cv_text(const PointSummary& point) {
  return point.cv ? fmt::format("{:.1f} %", 100.0 * *point.cv) : "-";
}

std::string peak_text(const PointSummary& point) {
  if (!point.peak_bytes) {
    return "-";
  }
  const double gib = static_cast<double>(*point.peak_bytes) / kGib;
  return gib < 1.0 ? fmt::format("{:.3f}", gib) : fmt::format("{:.1f}", gib);
}

std::vector<experiment::Inputs> inputs_of(std::span<const PointSummary> points) {
  std::vector<experiment::Inputs> inputs;
  for (const PointSummary& point : points) {
    inputs.push_back(point.inputs);
  }
  return inputs;
}

/// "best tokens/s: length=1024 batch=8 (71,480; next is 63,940, -10.5 %)".
std::string best_line(std::span<const PointSummary> points, std::span<const std::string> names) {
  std::vector<const PointSummary*> valid;
  for (const PointSummary& point : points) {
    if (!point.rates.empty()) {
      valid.push_back(&point);
    }
  }
  if (valid.size() < 2) {
    return "";
  }
  std::stable_sort(valid.begin(), valid.end(), [](const PointSummary* a, const PointSummary* b) {
    return a->median > b->median;
  });
  const PointSummary& best = *valid[0];
  const PointSummary& next = *valid[1];
  return fmt::format("best tokens/s: {} ({}; next is {}, {:+.1f} %)\n",
                     point_title(best.inputs, names), rate_text(best.median),
                     rate_text(next.median), 100.0 * (next.median / best.median - 1.0));
}

/// Below this chance of being noise, drift is told.
constexpr double kDriftP = 0.01;

std::string drift_line(std::span<const PointSummary> points) {
  const std::optional<stats::Drift> drift = drift_of(points);
  if (!drift || drift->p >= kDriftP) {
    return "";
  }
  return fmt::format(
      "drift: tokens/s changed by {:+.1f} % per round over all points (p = {:.2g}); the machine "
      "was not steady\n",
      100.0 * drift->per_round, drift->p);
}

/// What a reader must know about the numbers.
std::string note_lines(std::span<const PointSummary> points) {
  std::set<std::string> seeds;
  std::set<std::string> differing;
  bool unsettled = false;
  bool outliers = false;
  for (const PointSummary& point : points) {
    outliers = outliers || !point.outliers.empty();
    unsettled = unsettled || !point.warmup.empty();
    const auto trainer = point.inputs.find("trainer");
    if (!point.differences.empty() && trainer != point.inputs.end()) {
      differing.insert(fmt::format("not like for like: {}: {}\n", input_text(trainer->second),
                                   printable(point.differences)));
    }
    const auto seed = point.inputs.find("seed");
    if (point.random_weights && seed != point.inputs.end()) {
      seeds.insert(input_text(seed->second));
    }
  }
  std::string text;
  if (!seeds.empty()) {
    text += fmt::format("weights: random (seed {})\n", fmt::join(seeds, ", "));
  }
  for (const std::string& line : differing) {
    text += line;
  }
  if (unsettled) {
    text += "warm-up: step times of some points had not settled when timing began (see warmup)\n";
  }
  if (outliers) {
    text += "outliers: marked, not left out; the headline is the median\n";
  }
  text += drift_line(points);
  return text;
}

}  // namespace

void Stability::add(record::Outcome outcome) {
  using enum record::Outcome;
  if (outcome == Interrupted || outcome == Skipped) {
    return;
  }
  ++runs;
  ++(outcome == Ok        ? no_error
     : outcome == OomGpu  ? gpu_oom
     : outcome == OomHost ? host_oom
                          : other_error);
}

std::optional<stats::Drift> drift_of(std::span<const PointSummary> points) {
  std::vector<stats::Series> series;
  for (const PointSummary& point : points) {
    stats::Series& measured = series.emplace_back();
    for (std::size_t i = 0; i < point.rates.size(); ++i) {
      if (point.rounds[i] > 0 && point.rates[i] > 0) {
        measured.values.push_back(point.rates[i]);
        measured.rounds.push_back(point.rounds[i]);
      }
    }
  }
  return stats::drift(series);
}

namespace {

/// Keys by point: a stale attempt stands beside those that the run made of the same point, or
/// beside the other stale ones.
std::map<std::string, std::string> own_keys(std::span<const store::RunRecord> records) {
  std::map<std::string, std::string> keys;
  for (const bool stale : {false, true}) {
    for (const store::RunRecord& one : records) {
      if (one.stale.empty() != stale) {
        keys.try_emplace(one.record.point_key, one.record.key);
      }
    }
  }
  return keys;
}

}  // namespace

std::string PointSummary::status() const {
  return imported ? outcome_text() + ", imported" : outcome_text();
}

std::string PointSummary::outcome_text() const {
  std::string ok = "ok";
  if (throttled_percent > 0) {
    ok += fmt::format(", throttled {:.0f} %", throttled_percent);
  }
  if (!stale.empty()) {
    ok += fmt::format(", stale ({})", stale);
  }
  if (!outliers.empty()) {
    ok += fmt::format(", {} outlier{}", outliers.size(), outliers.size() == 1 ? "" : "s");
  }
  if (failures.empty()) {
    return ok;
  }
  const record::Record& last = failures.back();
  if (rates.empty()) {
    const std::string name(record::outcome_name(last.status));
    return last.reason.empty() ? name : name + ": " + last.reason;
  }
  std::map<std::string, int> counts;
  for (const record::Record& failure : failures) {
    ++counts[std::string(record::outcome_name(failure.status))];
  }
  std::string text = ok;
  for (const auto& [name, count] : counts) {
    text += fmt::format(", {} {}", count, name);
  }
  return text;
}

std::vector<PointSummary> summarise(std::span<const store::RunRecord> records) {
  std::vector<PointSummary> points;
  std::map<std::string, std::size_t> places;
  std::map<std::size_t, std::vector<double>> costs;
  const std::map<std::string, std::string> own = own_keys(records);
  for (const store::RunRecord& attempt : records) {
    const auto mine = attempt.stale.empty() ? own.end() : own.find(attempt.record.point_key);
    const std::string& key = mine == own.end() ? attempt.record.key : mine->second;
    const auto [place, added] = places.try_emplace(key, points.size());
    if (added) {
      points.push_back({.inputs = attempt.record.inputs});
    }
    add_attempt(points[place->second], attempt);
    if (!attempt.stale.empty()) {
      points[place->second].stale = attempt.stale;
    }
    if (const std::optional<double> cost = attempt.record.number("cost_per_mtok")) {
      costs[place->second].push_back(*cost);
    }
  }
  for (std::size_t index = 0; index < points.size(); ++index) {
    add_statistics(points[index], costs[index]);
  }
  return points;
}

namespace {

Json outlier_rates(const PointSummary& point) {
  Json rates = Json::array();
  for (const std::size_t index : point.outliers) {
    rates.push_back(point.rates[index]);
  }
  return rates;
}

/// The columns of the inputs that vary, in a table of their own for each kind of result.
struct PointTable {
  TextTable table;
  std::vector<std::string> names;

  explicit PointTable(std::span<const PointSummary> points) {
    const std::vector<experiment::Inputs> inputs = inputs_of(points);
    names = varying_inputs(inputs);
    for (const std::string& name : names) {
      const bool number = std::all_of(inputs.begin(), inputs.end(), [&](const auto& values) {
        const auto found = values.find(name);
        return found != values.end() && found->second.is_number();
      });
      table.add_column(experiment::short_name(name),
                       number ? TextTable::Align::Right : TextTable::Align::Left);
    }
  }

  [[nodiscard]] std::vector<std::string> cells(const PointSummary& point) const {
    std::vector<std::string> cells;
    for (const std::string& name : names) {
      const auto found = point.inputs.find(name);
      cells.push_back(found == point.inputs.end() ? "" : input_text(found->second));
    }
    return cells;
  }
};

/// Outcome and reason of the last run that failed.
std::string last_failure(const PointSummary& point) {
  if (point.failures.empty()) {
    return "-";
  }
  const record::Record& last = point.failures.back();
  const std::string name(record::outcome_name(last.status));
  return last.reason.empty() ? name : name + ": " + last.reason;
}

std::string stability_text(std::span<const PointSummary> points) {
  PointTable rows(points);
  for (const char* title :
       {"runs", "f_gpu_oom", "f_host_oom", "f_other_error", "f_no_error", "is_valid"}) {
    rows.table.add_column(title, TextTable::Align::Right);
  }
  rows.table.add_column("last failure");
  for (const PointSummary& point : points) {
    const Stability stability = point.stability.value_or(Stability{});
    std::vector<std::string> cells = rows.cells(point);
    cells.push_back(std::to_string(stability.runs));
    for (const double share : {stability.f_gpu_oom(), stability.f_host_oom(),
                               stability.f_other_error(), stability.f_no_error()}) {
      cells.push_back(stability.runs == 0 ? "-" : fmt::format("{:.1f}", share));
    }
    cells.emplace_back(stability.is_valid() ? "1" : "0");
    cells.push_back(last_failure(point));
    rows.table.add_row(std::move(cells));
  }
  return rows.table.text();
}

}  // namespace

std::string result_text(std::span<const PointSummary> points) {
  const auto has_stability = [](const PointSummary& point) { return point.stability.has_value(); };
  if (std::any_of(points.begin(), points.end(), has_stability)) {
    return stability_text(points);
  }
  const bool repeated = std::any_of(points.begin(), points.end(),
                                    [](const PointSummary& point) { return point.cv.has_value(); });
  const bool priced = std::any_of(points.begin(), points.end(),
                                  [](const PointSummary& point) { return point.cost.has_value(); });
  PointTable rows(points);
  rows.table.add_column("tokens/s", TextTable::Align::Right);
  rows.table.add_column("95% CI", TextTable::Align::Right);
  if (repeated) {
    rows.table.add_column("CV", TextTable::Align::Right);
  }
  rows.table.add_column("n", TextTable::Align::Right);
  rows.table.add_column("peak GiB", TextTable::Align::Right);
  if (priced) {
    rows.table.add_column("cost/Mtok", TextTable::Align::Right);
  }
  rows.table.add_column("status");
  for (const PointSummary& point : points) {
    std::vector<std::string> cells = rows.cells(point);
    cells.push_back(point.rates.empty() ? "-" : rate_text(point.median));
    cells.push_back(interval_text(point));
    if (repeated) {
      cells.push_back(cv_text(point));
    }
    cells.push_back(std::to_string(point.count()));
    cells.push_back(peak_text(point));
    if (priced) {
      cells.push_back(point.cost ? fmt::format("{:.4g}", *point.cost) : "-");
    }
    cells.push_back(point.status());
    rows.table.add_row(std::move(cells));
  }
  return rows.table.text() + best_line(points, rows.names) + note_lines(points);
}

void add_stability(Json& row, const Stability& stability) {
  const bool any = stability.runs > 0;
  row.set("runs", stability.runs)
      .set("f_gpu_oom", any ? Json(stability.f_gpu_oom()) : Json())
      .set("f_host_oom", any ? Json(stability.f_host_oom()) : Json())
      .set("f_other_error", any ? Json(stability.f_other_error()) : Json())
      .set("f_no_error", any ? Json(stability.f_no_error()) : Json())
      .set("is_valid", stability.is_valid());
}

Json result_json(std::span<const PointSummary> points) {
  Json rows = Json::array();
  for (const PointSummary& point : points) {
    Json inputs = Json::object();
    for (const auto& [name, value] : point.inputs) {
      inputs.set(name, value);
    }
    const bool measured = !point.rates.empty();
    const bool interval = point.half_width.has_value();
    Json row = Json::object();
    row.set("inputs", std::move(inputs))
        .set("n", point.count())
        .set("reused", point.reused)
        .set("tokens_per_s", measured ? Json(point.median) : Json())
        .set("tokens_per_s_mean", measured ? Json(point.mean) : Json())
        .set("tokens_per_s_ci_lo", interval ? Json(point.mean - *point.half_width) : Json())
        .set("tokens_per_s_ci_hi", interval ? Json(point.mean + *point.half_width) : Json())
        .set("tokens_per_s_cv", point.cv ? Json(*point.cv) : Json())
        .set("outliers", outlier_rates(point))
        .set("peak_bytes", point.peak_bytes ? Json(*point.peak_bytes) : Json())
        .set("status", measured || point.failures.empty()
                           ? "ok"
                           : Json(record::outcome_name(point.failures.back().status)))
        .set("reason", point.failures.empty() ? Json("") : Json(point.failures.back().reason))
        .set("failed", static_cast<std::int64_t>(point.failures.size()));
    if (point.cost) {
      row.set("cost_per_mtok", *point.cost);
    }
    if (point.stability) {
      add_stability(row, *point.stability);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace tunebench::report
