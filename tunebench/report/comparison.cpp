#include "tunebench/report/comparison.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tunebench/analyze/point_names.h"
#include "tunebench/base/clock.h"
#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"
#include "tunebench/experiment/short_name.h"
#include "tunebench/report/text_table.h"

namespace tunebench::report {
namespace {

using analyze::Change;
using analyze::ComparedPoint;
using analyze::Comparison;

constexpr std::size_t kNamedChanges = 6;
constexpr std::size_t kNamedPoints = 5;
constexpr std::size_t kFewForRanks = 4;
constexpr double kRanksP = 0.05;

std::string figure_text(double value) {
  return std::abs(value) >= 999.5 ? with_thousands(std::llround(value))
                                  : fmt::format("{:#.4g}", value);
}

/// A ratio near 1 has a digit more: 0.9996, 0.924.
std::string ratio_text(double ratio) {
  return fmt::format("{:.{}f}", ratio, std::abs(ratio - 1) < 0.01 ? 4 : 3);
}

std::string side_text(char letter, const std::string& name, const std::string& started_at,
                      std::int64_t now) {
  const std::optional<std::int64_t> started = parse_iso_time(started_at);
  return fmt::format("{} {}{}", letter, name,
                     started ? fmt::format(" ({})", age_text(now - *started)) : std::string());
}

/// "A brisk-otter (3 d ago)   B calm-heron (now)   same inputs: 4 of 4".
std::string header_line(const ComparisonReport& report) {
  const Comparison& comparison = *report.comparison;
  const std::size_t all =
      comparison.points.size() + comparison.only_first.size() + comparison.only_second.size();
  return fmt::format("{}   {}   same inputs: {} of {}",
                     side_text('A', report.first_name, report.first_started_at, report.now),
                     side_text('B', report.second_name, report.second_started_at, report.now),
                     comparison.points.size(), all);
}

std::string environment_line(const Comparison& comparison) {
  if (comparison.environment.empty()) {
    return "same environment";
  }
  std::vector<std::string> named = comparison.environment;
  std::string more;
  if (named.size() > kNamedChanges) {
    more = fmt::format(" and {} more (tunebench env diff)", named.size() - kNamedChanges);
    named.resize(kNamedChanges);
  }
  return "environment differs: " + join(named, ", ") + more;
}

TextTable table_of(const ComparisonReport& report) {
  const Comparison& comparison = *report.comparison;
  TextTable table;
  for (const std::string& name : comparison.names) {
    const bool number = std::all_of(
        comparison.points.begin(), comparison.points.end(), [&](const ComparedPoint& point) {
          const auto found = point.inputs.find(name);
          return found != point.inputs.end() && found->second.is_number();
        });
    table.add_column(experiment::short_name(name),
                     number ? TextTable::Align::Right : TextTable::Align::Left);
  }
  const std::string metric =
      comparison.metric.name == "tokens_per_s" ? "tok/s" : comparison.metric.name;
  table.add_column("A " + metric, TextTable::Align::Right);
  table.add_column("B " + metric, TextTable::Align::Right);
  table.add_column("B/A", TextTable::Align::Right);
  table.add_column("95% CI");
  table.add_column("n");
  table.add_column("verdict");
  for (const std::size_t index : report.shown) {
    const ComparedPoint& point = comparison.points[index];
    std::vector<std::string> cells;
    for (const std::string& name : comparison.names) {
      const auto found = point.inputs.find(name);
      cells.push_back(name == "experiment"          ? point.experiment
                      : found == point.inputs.end() ? ""
                                                    : analyze::input_text(found->second));
    }
    cells.push_back(point.first.empty() ? "-" : figure_text(point.first_mean));
    cells.push_back(point.second.empty() ? "-" : figure_text(point.second_mean));
    cells.push_back(point.ratio ? ratio_text(*point.ratio) : "-");
    cells.push_back(point.relative ? fmt::format("[{:.3f}, {:.3f}]", 1 + point.relative->low,
                                                 1 + point.relative->high)
                                   : "-");
    cells.push_back(fmt::format("{}/{}", point.first.size(), point.second.size()));
    const std::string verdict(change_name(comparison.metric, point.change));
    cells.push_back(point.failure.empty() ? verdict : verdict + ": " + point.failure);
    table.add_row(std::move(cells));
  }
  return table;
}

std::string lone_line(std::string_view side, const std::vector<analyze::LonePoint>& points,
                      const std::vector<std::string>& names) {
  std::vector<std::string> titles;
  for (const analyze::LonePoint& point : points) {
    if (titles.size() == kNamedPoints) {
      titles.push_back(fmt::format("{} more", points.size() - kNamedPoints));
      break;
    }
    titles.push_back(printable(analyze::point_title(point.inputs, names)));
  }
  return fmt::format("only in {}: {}", side, join(titles, ", "));
}

/// What the rank test says where it can contradict.
void add_rank_notes(const Comparison& comparison, std::vector<std::string>& notes) {
  bool too_few = false;
  for (const ComparedPoint& point : comparison.points) {
    if (point.change != Change::Better && point.change != Change::Worse) {
      continue;
    }
    too_few = too_few || std::min(point.first.size(), point.second.size()) < kFewForRanks;
    if (point.mann_whitney_p && *point.mann_whitney_p >= kRanksP) {
      notes.push_back(fmt::format("{}: the rank test does not confirm it (Mann-Whitney p = {:.2g})",
                                  printable(analyze::point_title(point.inputs, comparison.names)),
                                  *point.mann_whitney_p));
    }
  }
  if (too_few) {
    notes.emplace_back("by Welch's test; fewer than 4 repeats a side are too few for a rank test");
  }
}

std::vector<std::string> notes_of(const ComparisonReport& report) {
  const Comparison& comparison = *report.comparison;
  std::vector<std::string> notes;
  for (const ComparedPoint& point : comparison.points) {
    if (!point.differing.empty()) {
      notes.push_back(fmt::format("{}: other inputs differ: {}",
                                  printable(analyze::point_title(point.inputs, comparison.names)),
                                  join(point.differing, ", ")));
    }
  }
  if (!comparison.only_first.empty()) {
    notes.push_back(lone_line("A", comparison.only_first, comparison.names));
  }
  if (!comparison.only_second.empty()) {
    notes.push_back(lone_line("B", comparison.only_second, comparison.names));
  }
  if (comparison.shared_records > 0) {
    notes.push_back(fmt::format(
        "{} measurements are in both: B reused them, so they cannot differ (run with --fresh)",
        comparison.shared_records));
  }
  add_rank_notes(comparison, notes);
  for (const analyze::GateResult& gate : report.gates) {
    for (const analyze::GatedPoint& judged : gate.points) {
      if (judged.state != analyze::GateState::Passed) {
        notes.push_back(fmt::format(
            "gate {} {}: {}: {}", gate.gate.text, gate_state_name(judged.state),
            printable(analyze::point_title(judged.point->inputs, comparison.names)), judged.why));
      }
    }
  }
  return notes;
}

std::string gate_text(const analyze::GateResult& gate, const Comparison& comparison) {
  const bool plain = gate.gate.metric.name == comparison.metric.name && gate.gate.below;
  return fmt::format(
      "gate {}: {}", plain ? gate.gate.short_text() : gate.gate.text,
      gate.state == analyze::GateState::Failed ? "FAILED (exit 4)" : gate_state_name(gate.state));
}

/// "(2 of 4 rows shown) geomean 0.979 · 1 slower, 0 faster, 3 same · gate -3%: FAILED (exit 4)".
std::string last_line(const ComparisonReport& report) {
  const Comparison& comparison = *report.comparison;
  std::vector<std::string> parts;
  if (comparison.geomean) {
    parts.push_back("geomean " + ratio_text(*comparison.geomean));
  }
  std::vector<std::string> counts;
  for (const Change change : {Change::Worse, Change::Better, Change::Same, Change::TooFew,
                              Change::Failed, Change::Fixed}) {
    const bool always =
        change == Change::Worse || change == Change::Better || change == Change::Same;
    const std::size_t count = comparison.count(change);
    if (always || count > 0) {
      counts.push_back(fmt::format("{} {}", count, change_name(comparison.metric, change)));
    }
  }
  parts.push_back(join(counts, ", "));
  for (const analyze::GateResult& gate : report.gates) {
    parts.push_back(gate_text(gate, comparison));
  }
  const std::string shown =
      report.shown.size() == comparison.points.size()
          ? ""
          : fmt::format("({} of {} rows shown) ", report.shown.size(), comparison.points.size());
  return shown + join(parts, " · ");
}

}  // namespace

std::string age_text(std::int64_t seconds) {
  if (seconds < 60) {
    return "now";
  }
  if (seconds < 3600) {
    return fmt::format("{} min ago", seconds / 60);
  }
  return seconds < 86400 ? fmt::format("{} h ago", seconds / 3600)
                         : fmt::format("{} d ago", seconds / 86400);
}

Json comparison_columns() {
  Json::Object row;
  row.emplace_back("experiment", Json());
  for (const experiment::Property& property : experiment::properties()) {
    row.emplace_back(property.name, Json());
  }
  for (const char* name : {"a", "b", "ratio", "ci_lo", "ci_hi", "p", "n_a", "n_b", "verdict"}) {
    row.emplace_back(name, Json());
  }
  return Json::object(std::move(row));
}

std::vector<Json> comparison_rows(const Comparison& comparison) {
  std::vector<Json> rows;
  for (const ComparedPoint& point : comparison.points) {
    Json row = comparison_columns();
    row.set("experiment", point.experiment);
    for (const auto& [name, value] : point.inputs) {
      if (row.find(name) != nullptr) {
        row.set(name, value);
      }
    }
    row.set("a", point.first.empty() ? Json() : Json(point.first_mean))
        .set("b", point.second.empty() ? Json() : Json(point.second_mean))
        .set("ratio", point.ratio ? Json(*point.ratio) : Json())
        .set("ci_lo", point.relative ? Json(1 + point.relative->low) : Json())
        .set("ci_hi", point.relative ? Json(1 + point.relative->high) : Json())
        .set("p", point.corrected_p ? Json(*point.corrected_p) : Json())
        .set("n_a", static_cast<std::int64_t>(point.first.size()))
        .set("n_b", static_cast<std::int64_t>(point.second.size()))
        .set("verdict", change_name(comparison.metric, point.change));
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string comparison_text(const ComparisonReport& report) {
  std::string text = header_line(report) + "\n" + environment_line(*report.comparison) + "\n" +
                     table_of(report).text();
  for (const std::string& note : notes_of(report)) {
    text += note + "\n";
  }
  return text + last_line(report) + "\n";
}

std::string comparison_markdown(const ComparisonReport& report) {
  std::string text = fmt::format("**{}**\n\n{}\n\n{}\n", header_line(report),
                                 environment_line(*report.comparison), table_of(report).markdown());
  for (const std::string& note : notes_of(report)) {
    text += "- " + note + "\n";
  }
  return text + "\n**" + last_line(report) + "**\n";
}

}  // namespace tunebench::report
