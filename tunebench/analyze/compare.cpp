#include "tunebench/analyze/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tunebench/analyze/environment_difference.h"
#include "tunebench/analyze/point_names.h"
#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"
#include "tunebench/experiment/short_name.h"
#include "tunebench/stats/summary.h"

namespace tunebench::analyze {
namespace {

constexpr double kSignificant = 0.05;
constexpr std::string_view kExperiment = "experiment";

/// All attempts of one side that share the inputs joined on.
struct JoinGroup {
  const record::Record* head = nullptr;
  const record::Record* last_failure = nullptr;
  std::vector<double> values;
};

struct JoinedSide {
  std::vector<std::string> order;  ///< keys, as they first occur
  std::map<std::string, JoinGroup> groups;
};

/// The property names of --by; empty for all inputs.
std::vector<std::string> joined_names(const std::vector<std::string>& by, Diagnostics& problems) {
  std::vector<std::string> known = {std::string(kExperiment)};
  for (const experiment::Property& property : experiment::properties()) {
    known.push_back(property.name);
    known.push_back(experiment::short_name(property.name));
  }
  std::vector<std::string> names;
  for (const std::string& name : by) {
    std::string full = name == kExperiment ? name : "";
    for (const experiment::Property& property : experiment::properties()) {
      if (property.name == name || experiment::short_name(property.name) == name) {
        full = property.name;
      }
    }
    if (full.empty()) {
      problems.push_back(
          {"--by", fmt::format("unknown input '{}'", excerpt(name)), did_you_mean(name, known)});
    } else if (std::find(names.begin(), names.end(), full) == names.end()) {
      names.push_back(full);
    }
  }
  return names;
}

Json input_of(const record::Record& record, const std::string& name) {
  if (name == kExperiment) {
    return record.experiment;
  }
  const auto found = record.inputs.find(name);
  return found == record.inputs.end() ? Json() : found->second;
}

std::string join_key(const record::Record& record, const std::vector<std::string>& names) {
  Json key = Json::object();
  if (names.empty()) {
    key.set(std::string(kExperiment), record.experiment);
    for (const auto& [name, value] : record.inputs) {
      key.set(name, value);
    }
  }
  for (const std::string& name : names) {
    key.set(name, input_of(record, name));
  }
  return key.canonical();
}

/// "batch=4 and batch=8" of two records that --by takes for one point; empty when they are one.
std::string first_difference(const record::Record& a, const record::Record& b) {
  for (const experiment::Property& property : experiment::properties()) {
    const Json left = input_of(a, property.name);
    const Json right = input_of(b, property.name);
    if (!(left == right)) {
      const std::string name = experiment::short_name(property.name);
      return fmt::format("{0}={1} and {0}={2}", name, input_text(left), input_text(right));
    }
  }
  return a.experiment == b.experiment ? std::string()
                                      : fmt::format("{} and {}", a.experiment, b.experiment);
}

JoinedSide side_of(std::span<const record::Record> records, const Metric& metric,
                   const std::vector<std::string>& names, std::string_view side,
                   Diagnostics& problems) {
  JoinedSide joined;
  std::set<std::string> told;
  for (const record::Record& record : records) {
    const std::string key = join_key(record, names);
    const auto [place, added] = joined.groups.try_emplace(key);
    JoinGroup& group = place->second;
    if (added) {
      joined.order.push_back(key);
      group.head = &record;
    } else if (const std::string difference = first_difference(*group.head, record);
               !difference.empty() && told.insert(key).second) {
      problems.push_back(
          {"--by", fmt::format("{} holds several points where one is meant: {}", side, difference),
           "name what tells them apart, too"});
    }
    if (const std::optional<double> value = metric.of(record)) {
      group.values.push_back(*value);
    } else if (!record.is_valid()) {
      group.last_failure = &record;
    }
  }
  return joined;
}

std::vector<std::string> differing_inputs(const record::Record& a, const record::Record& b) {
  std::vector<std::string> differing;
  for (const experiment::Property& property : experiment::properties()) {
    const Json left = input_of(a, property.name);
    const Json right = input_of(b, property.name);
    if (!(left == right)) {
      differing.push_back(fmt::format("{}: {} -> {}", experiment::short_name(property.name),
                                      printable(input_text(left)), printable(input_text(right))));
    }
  }
  if (a.experiment != b.experiment) {
    differing.push_back(fmt::format("experiment: {} -> {}", a.experiment, b.experiment));
  }
  return differing;
}

std::string failure_text(const record::Record& record) {
  const std::string name(record::outcome_name(record.status));
  return record.reason.empty() ? name : name + ": " + printable(record.reason);
}

void set_statistics(ComparedPoint& point) {
  point.first_mean = stats::mean(point.first);
  point.second_mean = stats::mean(point.second);
  point.welch = stats::welch(point.first, point.second);
  if (point.first_mean > 0) {
    const stats::Comparison numbers = stats::compare_rates(point.first, point.second);
    point.ratio = numbers.ratio;
    point.relative = numbers.relative;
    point.mann_whitney_p = numbers.mann_whitney_p;
  }
}

/// nullopt when neither side has a value.
std::optional<ComparedPoint> compared_point(const JoinGroup& a, const JoinGroup& b) {
  ComparedPoint point{.inputs = a.head->inputs, .experiment = a.head->experiment};
  point.differing = differing_inputs(*a.head, *b.head);
  point.first = a.values;
  point.second = b.values;
  if (!a.values.empty() && !b.values.empty()) {
    set_statistics(point);
    return point;
  }
  const bool failed = !a.values.empty() && b.last_failure != nullptr;
  const bool fixed = !b.values.empty() && a.last_failure != nullptr;
  if (!failed && !fixed) {
    return std::nullopt;
  }
  point.change = failed ? Change::Failed : Change::Fixed;
  point.failure = failure_text(failed ? *b.last_failure : *a.last_failure);
  point.first_mean = failed ? stats::mean(a.values) : 0;
  point.second_mean = fixed ? stats::mean(b.values) : 0;
  return point;
}

/// The rule of section 3.4 of the specification, with p corrected for the number of points.
Change change_of(const ComparedPoint& point, const Metric& metric, double practical) {
  const stats::Welch& welch = *point.welch;
  const bool differs = welch.interval.low > 0 || welch.interval.high < 0;
  const bool matters =
      std::abs(welch.difference) >= practical * std::abs(point.first_mean) && differs;
  if (!matters || *point.corrected_p >= kSignificant) {
    return Change::Same;
  }
  return (welch.difference > 0) == metric.higher_is_better ? Change::Better : Change::Worse;
}

void set_changes(Comparison& comparison, double practical) {
  std::vector<double> p_values;
  std::vector<ComparedPoint*> tested;
  std::vector<double> ratios;
  for (ComparedPoint& point : comparison.points) {
    if (point.welch) {
      p_values.push_back(point.welch->p);
      tested.push_back(&point);
    }
    if (point.ratio && *point.ratio > 0) {
      ratios.push_back(*point.ratio);
    }
  }
  const std::vector<double> corrected = stats::holm(p_values);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    tested[i]->corrected_p = corrected[i];
    tested[i]->change = change_of(*tested[i], comparison.metric, practical);
  }
  if (!ratios.empty()) {
    comparison.geomean = stats::geometric_mean(ratios);
  }
}

std::set<std::string> hardware_of(std::span<const record::Record> records) {
  std::set<std::string> names;
  for (const record::Record& record : records) {
    names.insert(hardware_name(record));
  }
  return names;
}

void check_hardware(std::span<const record::Record> first, std::span<const record::Record> second,
                    Diagnostics& problems) {
  const std::set<std::string> a = hardware_of(first);
  const std::set<std::string> b = hardware_of(second);
  if (a != b) {
    problems.push_back({"",
                        fmt::format("A ran on {}, B on {}: differences between machines are no "
                                    "regressions",
                                    fmt::join(a, " and "), fmt::join(b, " and ")),
                        "--across compares them anyway"});
  }
}

std::size_t shared_records(std::span<const record::Record> first,
                           std::span<const record::Record> second) {
  std::set<std::string> ids;
  for (const record::Record& record : first) {
    ids.insert(record.id);
  }
  return static_cast<std::size_t>(std::count_if(
      second.begin(), second.end(),
      [&](const record::Record& record) { return !record.id.empty() && ids.contains(record.id); }));
}

std::vector<std::string> shown_names(const Comparison& comparison) {
  std::vector<experiment::Inputs> inputs;
  for (const ComparedPoint& point : comparison.points) {
    inputs.push_back(point.inputs);
  }
  for (const auto* lone : {&comparison.only_first, &comparison.only_second}) {
    for (const LonePoint& point : *lone) {
      inputs.push_back(point.inputs);
    }
  }
  return varying_inputs(inputs);
}

void join_sides(const JoinedSide& a, const JoinedSide& b, Comparison& comparison) {
  const auto lone = [](const JoinGroup& group) {
    return LonePoint{group.head->inputs, group.head->experiment};
  };
  for (const std::string& key : a.order) {
    const JoinGroup& group = a.groups.at(key);
    const auto other = b.groups.find(key);
    if (other == b.groups.end()) {
      comparison.only_first.push_back(lone(group));
    } else if (std::optional<ComparedPoint> point = compared_point(group, other->second)) {
      comparison.points.push_back(std::move(*point));
    }
  }
  for (const std::string& key : b.order) {
    if (!a.groups.contains(key)) {
      comparison.only_second.push_back(lone(b.groups.at(key)));
    }
  }
}

}  // namespace

std::size_t Comparison::count(Change change) const {
  return static_cast<std::size_t>(
      std::count_if(points.begin(), points.end(),
                    [&](const ComparedPoint& point) { return point.change == change; }));
}

void check_rules(const CompareRules& rules, Diagnostics& problems) {
  if (!find_metric(rules.metric)) {
    problems.push_back({"--metric", fmt::format("unknown metric '{}'", excerpt(rules.metric)),
                        did_you_mean(rules.metric, metric_names())});
  }
  joined_names(rules.by, problems);
}

std::optional<Comparison> compare(std::span<const record::Record> first,
                                  std::span<const record::Record> second, const CompareRules& rules,
                                  Diagnostics& problems) {
  const std::size_t before = problems.size();
  check_rules(rules, problems);
  if (problems.size() != before) {
    return std::nullopt;
  }
  const std::optional<Metric> metric = find_metric(rules.metric);
  const std::vector<std::string> names = joined_names(rules.by, problems);
  if (!rules.across && !first.empty() && !second.empty()) {
    check_hardware(first, second, problems);
  }
  Comparison comparison{.metric = *metric};
  join_sides(side_of(first, *metric, names, "A", problems),
             side_of(second, *metric, names, "B", problems), comparison);
  if (comparison.points.empty() && problems.size() == before) {
    problems.push_back({"",
                        fmt::format("A and B have no point in common that has {}", metric->name),
                        rules.by.empty() ? "--by joins them on some inputs only" : ""});
  }
  if (problems.size() != before) {
    return std::nullopt;
  }
  comparison.names = rules.by.empty() ? shown_names(comparison) : names;
  comparison.environment = environment_changes(first.back().environment, second.back().environment);
  comparison.environment_full =
      environment_differences(first.back().environment, second.back().environment);
  comparison.shared_records = shared_records(first, second);
  set_changes(comparison, rules.practical);
  return comparison;
}

std::string_view change_name(const Metric& metric, Change change) {
  switch (change) {
    case Change::Same:
      return "same";
    case Change::Better:
      return metric.is_rate() ? "faster" : "better";
    case Change::Worse:
      return metric.is_rate() ? "slower" : "worse";
    case Change::Failed:
      return "failed";
    case Change::Fixed:
      return "fixed";
    case Change::TooFew:
      break;
  }
  return "too few";
}

}  // namespace tunebench::analyze
