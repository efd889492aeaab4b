#include <algorithm>
#include <map>
#include <ostream>

#include <fmt/core.h>

#include "tunebench/analyze/best.h"
#include "tunebench/analyze/figures.h"
#include "tunebench/analyze/metric.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/results.h"
#include "tunebench/cli/run_options.h"
#include "tunebench/report/aggregate.h"
#include "tunebench/report/ranking.h"
#include "tunebench/report/select.h"

namespace tunebench::cli {

namespace {

/// --max and --min; each may name any number of the columns of one row per point.
std::vector<analyze::Objective> objectives_of(const config::CommandLine& line,
                                              const analyze::Columns& columns,
                                              Diagnostics& problems) {
  std::vector<analyze::Objective> objectives;
  for (const char* option : {"max", "min"}) {
    for (const std::string& value : line.values(option)) {
      for (const std::string& item : split(value, ',')) {
        const std::string name(trim(item));
        const auto& names = columns.names();
        const std::string spelled = std::string("--") + option;
        if (std::find(names.begin(), names.end(), name) == names.end()) {
          problems.push_back({spelled, fmt::format("unknown metric '{}'", excerpt(name)),
                              did_you_mean(name, analyze::metric_names())});
        } else if (std::any_of(objectives.begin(), objectives.end(),
                               [&](const auto& other) { return other.name == name; })) {
          problems.push_back({spelled, fmt::format("'{}' is given twice", name), ""});
        } else {
          objectives.push_back({name, std::string_view(option) == "max"});
        }
      }
    }
  }
  return objectives;
}

/// What pareto and best have in common: points with a figure for each objective.
struct Ranking {
  report::RankedPoints points;
  std::optional<analyze::Selection> selection;
  std::vector<Json> rows;  ///< of the points
};

/// Objectives and selection; all mistakes are told.
Ranking asked_ranking(const config::CommandLine& line, Diagnostics& problems,
                      std::optional<double>& price) {
  Ranking ranking;
  const Json columns = report::aggregate_columns();
  ranking.points.objectives = objectives_of(line, analyze::Columns(columns), problems);
  ranking.selection = selection_of(line, columns, problems);
  price = price_of(line, problems);
  if (line.has("all") && !line.arguments.empty()) {
    problems.push_back({"--all", "contradicts RUN", ""});
  }
  return ranking;
}

void fill_ranking(Ranking& ranking, std::optional<double> price, const Invocation& invocation,
                  Console& console) {
  const config::CommandLine& line = invocation.line;
  const std::unique_ptr<store::Store> store = open_for_reading(line, console);
  std::optional<std::string> run;
  if (!line.has("all")) {
    run = store->find_run(line.argument(0).value_or("@last")).name;
  }
  std::vector<store::RunRecord> records = records_named(*store, run);
  keep_measured(records, invocation, console);
  const std::size_t imported = run ? 0 : report::remove_imported(records);
  if (imported > 0) {
    console.err << fmt::format(
        "{} imported measurements are left out; to rank them, name their run\n", imported);
  }
  add_cost(records, price);
  const analyze::Columns columns(report::aggregate_columns());
  const std::vector<Json> rows = report::aggregate(records);
  report::RankedPoints& points = ranking.points;
  points.origin = run.value_or("all runs");
  for (const std::size_t index : ranking.selection->apply(rows)) {
    std::vector<analyze::Figure> figures;
    for (const analyze::Objective& objective : points.objectives) {
      if (const auto figure = analyze::figure_of(rows[index], columns, objective.name)) {
        figures.push_back(*figure);
      }
    }
    if (figures.size() != points.objectives.size()) {
      ++points.left_out;
      continue;
    }
    points.inputs.push_back(analyze::inputs_of(rows[index]));
    points.figures.push_back(std::move(figures));
    ranking.rows.push_back(rows[index]);
  }
}

int show_pareto(const Invocation& invocation, Console& console) {
  Diagnostics problems;
  std::optional<double> price;
  Ranking ranking = asked_ranking(invocation.line, problems, price);
  if (problems.empty() && ranking.points.objectives.empty()) {
    problems.push_back(
        {"", "nothing to have much or little of", "give --max METRIC, --min METRIC"});
  }
  if (tell_mistakes(problems, invocation, console)) {
    return kUsage;
  }
  fill_ranking(ranking, price, invocation, console);
  const std::vector<analyze::ParetoPoint> front =
      analyze::pareto(ranking.points.figures, ranking.points.objectives);
  write_result(console, invocation.json()
                            ? report::pareto_json(ranking.points, front).dump(2) + "\n"
                            : report::pareto_text(ranking.points, front));
  return front.empty() ? kNothingMeasured : kOk;
}

std::vector<report::BestOfGroup> best_of_groups(const Ranking& ranking) {
  std::vector<report::BestOfGroup> groups;
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < ranking.rows.size(); ++i) {
    Json::Array group = ranking.selection->group_of(ranking.rows[i]);
    const auto [place, added] = places.try_emplace(Json(group).dump(), groups.size());
    if (added) {
      groups.push_back({.group = std::move(group), .members = {}, .best = {}});
    }
    groups[place->second].members.push_back(i);
  }
  for (report::BestOfGroup& group : groups) {
    std::vector<analyze::Figure> figures;
    for (const std::size_t member : group.members) {
      figures.push_back(ranking.points.figures[member][0]);
    }
    group.best = *analyze::best_of(figures, ranking.points.objectives[0].maximise);
  }
  return groups;
}

int show_best(const Invocation& invocation, Console& console) {
  Diagnostics problems;
  std::optional<double> price;
  Ranking ranking = asked_ranking(invocation.line, problems, price);
  std::vector<analyze::Objective>& objectives = ranking.points.objectives;
  if (objectives.size() > 1) {
    problems.push_back({"", "best has one objective", "of several: tunebench pareto"});
  }
  if (tell_mistakes(problems, invocation, console)) {
    return kUsage;
  }
  if (objectives.empty()) {
    objectives.push_back({"tokens_per_s", true});
  }
  fill_ranking(ranking, price, invocation, console);
  const std::vector<report::BestOfGroup> groups = best_of_groups(ranking);
  const std::vector<std::string> names = ranking.selection->group_names();
  if (groups.empty() && !invocation.json()) {
    console.err << fmt::format("no point of {} has {}\n", ranking.points.origin,
                               objectives[0].name);
  }
  write_result(console, invocation.json()
                            ? report::best_json(ranking.points, names, groups).dump(2) + "\n"
                            : report::best_text(ranking.points, names, groups));
  return groups.empty() ? kNothingMeasured : kOk;
}

config::CommandSpec rank_spec(std::string name, std::string summary,
                              std::vector<std::string> examples) {
  config::CommandSpec spec{
      .name = std::move(name),
      .summary = std::move(summary),
      .arguments = {{"RUN", "name, the beginning of one, @last (default) or @last~1", false}},
      .options = {{.name = "max",
                   .value_name = "METRIC",
                   .help = "to have much of; may be given several times",
                   .repeatable = true},
                  {.name = "min",
                   .value_name = "METRIC",
                   .help = "to have little of; may be given several times",
                   .repeatable = true},
                  {.name = "all",
                   .takes_value = false,
                   .help = "over the points of all runs in the store"}},
      .examples = std::move(examples)};
  for (config::OptionSpec& option : selection_options()) {
    spec.options.push_back(std::move(option));
  }
  for (const config::OptionSpec& option :
       {simulated_option(), price_option(), store_option(), json_option()}) {
    spec.options.push_back(option);
  }
  return spec;
}

}  // namespace

Command pareto_command() {
  return {rank_spec("pareto", "show which points no other beats in everything asked for",
                    {"tunebench pareto @last --max tokens_per_s --min peak_mem_gib",
                     "tunebench pareto --max tokens_per_s --min cost_per_mtok --price 2.50"}),
          show_pareto};
}

Command best_command() {
  return {rank_spec("best", "name the best point, and how far the next is",
                    {"tunebench best", "tunebench best --min j_per_token --group-by model"}),
          show_best};
}

}  // namespace tunebench::cli
