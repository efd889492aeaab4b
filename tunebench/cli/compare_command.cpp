#include <algorithm>
#include <ostream>

#include <fmt/core.h>

#include "tunebench/analyze/compare.h"
#include "tunebench/analyze/gate.h"
#include "tunebench/base/clock.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/results.h"
#include "tunebench/cli/run_options.h"
#include "tunebench/experiment/property.h"
#include "tunebench/report/comparison.h"

namespace tunebench::cli {

namespace {

enum class CompareFormat { Text, Markdown, Json };

/// Everything of the command line that can be wrong without looking at a result.
struct CompareRequest {
  analyze::CompareRules rules;
  std::vector<analyze::Gate> gates;
  std::optional<double> price;
  std::optional<analyze::Selection> points;  ///< --where, over inputs
  std::optional<analyze::Selection> view;    ///< --sort and --top, over rows of the comparison
  CompareFormat format = CompareFormat::Text;
};

/// One side: a run and its records.
struct ComparedSide {
  std::string name;
  std::string started_at;
  std::vector<record::Record> records;
};

CompareFormat compare_format(const Invocation& invocation, Diagnostics& problems) {
  static const std::vector<std::string> kNames{"text", "md", "json"};
  const config::GivenOption* given = invocation.line.find("format");
  if (given == nullptr) {
    return invocation.json() ? CompareFormat::Json : CompareFormat::Text;
  }
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (given->value == kNames[i]) {
      if (invocation.json() && given->value != "json") {
        problems.push_back({"--format", "contradicts --json", ""});
      }
      return static_cast<CompareFormat>(i);
    }
  }
  problems.push_back(
      {given->spelled,
       fmt::format("'{}' is none of {}", printable(given->value), join(kNames, ", ")),
       did_you_mean(given->value, kNames)});
  return CompareFormat::Text;
}

/// "1%" or "0.01" as a share.
double practical_of(const config::CommandLine& line, Diagnostics& problems) {
  const config::GivenOption* given = line.find("practical");
  if (given == nullptr) {
    return analyze::CompareRules{}.practical;
  }
  std::string_view text = trim(given->value);
  const bool percent = text.ends_with('%');
  text = percent ? trim(text.substr(0, text.size() - 1)) : text;
  const std::optional<double> value = parse_real(text);
  const double share = value.value_or(-1) / (percent ? 100.0 : 1.0);
  if (!value || share < 0 || share >= 1) {
    problems.push_back(
        {given->spelled,
         fmt::format("'{}' is no share from 0% to below 100%", printable(given->value)), ""});
  }
  return share;
}

/// What --where may name: what the sides are joined on, not what was measured.
Json input_columns() {
  Json::Object row;
  row.emplace_back("experiment", Json());
  for (const experiment::Property& property : experiment::properties()) {
    row.emplace_back(property.name, Json());
  }
  return Json::object(std::move(row));
}

CompareRequest compare_request(const Invocation& invocation, Diagnostics& problems) {
  const config::CommandLine& line = invocation.line;
  CompareRequest request;
  request.rules.metric = line.value("metric", request.rules.metric);
  if (line.has("by")) {
    for (const std::string& name : split(line.value("by"), ',')) {
      request.rules.by.emplace_back(trim(name));
    }
  }
  request.rules.practical = practical_of(line, problems);
  request.rules.across = line.has("across");
  analyze::check_rules(request.rules, problems);
  for (const std::string& text : line.values("fail_if")) {
    if (std::optional<analyze::Gate> gate = analyze::parse_gate(text, "--fail-if", problems)) {
      request.gates.push_back(std::move(*gate));
    }
  }
  request.price = price_of(line, problems);
  request.format = compare_format(invocation, problems);
  request.points = analyze::Selection::compile({.where = line.value("where")},
                                               analyze::Columns(input_columns()), problems);
  analyze::SelectionText view{.sort = line.value("sort")};
  if (line.has("top")) {
    view.top = static_cast<std::size_t>(integer_option(line, "top", 1, 1, problems));
  }
  request.view =
      analyze::Selection::compile(view, analyze::Columns(report::comparison_columns()), problems);
  if (line.has("baseline") && line.arguments.size() > 1) {
    problems.push_back({"--baseline", "is A, so there is one run to name: B", ""});
  } else if (!line.has("baseline") && line.arguments.empty()) {
    problems.push_back({"", "A is missing", "a run to compare with, or --baseline NAME"});
  }
  return request;
}

ComparedSide side_of_run(const store::Store& store, const store::Run& run,
                         const CompareRequest& request, const Invocation& invocation,
                         Console& console) {
  std::vector<store::RunRecord> records = store.records_of(run.name);
  keep_measured(records, invocation, console);
  const bool imported = std::ranges::any_of(records, [](const store::RunRecord& one) {
    return record::source_of(one.record) == record::kImported;
  });
  if (imported) {
    console.err << fmt::format(
        "{} holds what another program measured: its figures may count other things\n", run.name);
  }
  add_cost(records, request.price);
  ComparedSide side{run.name, run.started_at, {}};
  for (store::RunRecord& one : records) {
    Json row = input_columns();
    row.set("experiment", one.record.experiment);
    for (const auto& [input, value] : one.record.inputs) {
      if (row.find(input) != nullptr) {
        row.set(input, value);
      }
    }
    if (request.points->takes(row)) {
      side.records.push_back(std::move(one.record));
    }
  }
  if (side.records.empty()) {
    throw Error(ErrorCode::NotFound,
                fmt::format("{} has no measurement{}", run.name,
                            invocation.line.has("where") ? " for which --where holds" : ""));
  }
  return side;
}

std::string formatted(const report::ComparisonReport& report, CompareFormat format) {
  switch (format) {
    case CompareFormat::Markdown:
      return report::comparison_markdown(report);
    case CompareFormat::Json:
      return report::comparison_json(report).dump(2) + "\n";
    case CompareFormat::Text:
      break;
  }
  return report::comparison_text(report);
}

/// A gate over another metric than the table's needs a comparison of its own; they are kept, since
/// the results point into them.
std::vector<analyze::GateResult> judged_gates(const CompareRequest& request, const ComparedSide& a,
                                              const ComparedSide& b,
                                              const analyze::Comparison& comparison,
                                              std::vector<analyze::Comparison>& others,
                                              Diagnostics& problems) {
  std::vector<analyze::GateResult> results;
  others.reserve(request.gates.size());
  for (const analyze::Gate& gate : request.gates) {
    if (gate.metric.name == comparison.metric.name) {
      results.push_back(judge(gate, comparison));
      continue;
    }
    analyze::CompareRules rules = request.rules;
    rules.metric = gate.metric.name;
    if (auto other = analyze::compare(a.records, b.records, rules, problems)) {
      other->names = comparison.names;
      results.push_back(judge(gate, others.emplace_back(std::move(*other))));
    }
  }
  return results;
}

int gate_exit(const std::vector<analyze::GateResult>& gates, bool strict, Console& console) {
  int code = kOk;
  for (const analyze::GateResult& gate : gates) {
    if (gate.state == analyze::GateState::Failed) {
      code = kGateFailed;
    } else if (gate.state == analyze::GateState::Uncertain) {
      console.err << fmt::format(
          "tunebench: warning: gate {} is uncertain: more repeats would tell{}\n", gate.gate.text,
          strict ? "" : "; --strict fails on it");
      code = strict ? static_cast<int>(kGateFailed) : code;
    }
  }
  return code;
}

int compare_runs(const Invocation& invocation, Console& console) {
  const config::CommandLine& line = invocation.line;
  Diagnostics problems;
  const CompareRequest request = compare_request(invocation, problems);
  if (tell_mistakes(problems, invocation, console)) {
    return kUsage;
  }
  const std::unique_ptr<store::Store> store = open_for_reading(line, console);
  const std::string baseline = line.value("baseline");
  ComparedSide a = side_of_run(
      *store, baseline.empty() ? store->find_run(line.arguments[0]) : store->baseline(baseline),
      request, invocation, console);
  if (!baseline.empty()) {
    a.name = fmt::format("baseline {} ({})", printable(baseline), a.name);
  }
  const ComparedSide b = side_of_run(
      *store, store->find_run(line.argument(baseline.empty() ? 1 : 0).value_or("@last")), request,
      invocation, console);
  const auto comparison = analyze::compare(a.records, b.records, request.rules, problems);
  std::vector<analyze::Comparison> others;
  report::ComparisonReport report{.first_name = a.name,
                                  .second_name = b.name,
                                  .first_started_at = a.started_at,
                                  .second_started_at = b.started_at,
                                  .now = system_clock().unix_seconds()};
  if (comparison) {
    report.comparison = &*comparison;
    report.shown = request.view->apply(report::comparison_rows(*comparison));
    report.gates = judged_gates(request, a, b, *comparison, others, problems);
  }
  if (tell_mistakes(problems, invocation, console)) {
    return kUsage;
  }
  if (line.has("junit")) {
    write_result(console, report::comparison_junit(report), line.value("junit"));
  }
  write_result(console, formatted(report, request.format), line.value("output"));
  return gate_exit(report.gates, line.has("strict"), console);
}

std::vector<config::OptionSpec> compare_options() {
  return {
      {.name = "baseline",
       .value_name = "NAME",
       .help = "compare B with this baseline (tunebench baseline set) instead of a run A"},
      {.name = "metric",
       .value_name = "NAME",
       .help = "what to compare; default tokens_per_s. See: tunebench metrics"},
      {.name = "by",
       .value_name = "INPUT,...",
       .help = "join the points on these inputs only; what else differs is told"},
      {.name = "practical",
       .value_name = "PERCENT",
       .help = "a difference below it does not matter; default 1%"},
      {.name = "across", .takes_value = false, .help = "compare results of different hardware"},
      {.name = "fail_if",
       .value_name = "'METRIC < PERCENT%'",
       .help = "gate: exit code 4 when the metric surely changed beyond the limit, as in "
               "'tokens_per_s < -3%' or 'peak_mem_gib > 5%'; may be given several times",
       .repeatable = true},
      {.name = "strict", .takes_value = false, .help = "a gate that cannot be decided fails, too"},
      {.name = "where",
       .value_name = "CONDITION",
       .help = "only points for whose inputs it holds (docs/expressions.md)"},
      {.name = "sort",
       .value_name = "[-]FIELD,...",
       .help = "order of the rows: inputs, a, b, ratio, ci_lo, ci_hi, p, n_a, n_b, verdict"},
      {.name = "top", .value_name = "N", .help = "show at most so many rows"},
      {.name = "format", .value_name = "text|md|json", .help = "default text"},
      {.name = "output",
       .aliases = {"-o"},
       .value_name = "FILE",
       .help = "file to write; - or nothing: standard output"},
      {.name = "junit", .value_name = "FILE", .help = "also write the gates as JUnit XML"},
      simulated_option(),
      price_option(),
      store_option(),
      json_option()};
}

}  // namespace

Command compare_command() {
  return {{.name = "compare",
           .summary = "tell where run B is faster, slower or the same as run A, and how sure",
           .arguments = {{"A", "a run: name, the beginning of one, @last or @last~1", false},
                         {"B", "the run to judge; default @last", false}},
           .options = compare_options(),
           .examples = {"tunebench compare brisk-otter @last",
                        "tunebench compare @last~1 @last --fail-if 'tokens_per_s < -3%'",
                        "tunebench compare --baseline main --fail-if 'tokens_per_s < -3%'",
                        "tunebench compare A B --by model,batch --metric peak_mem_gib"}},
          compare_runs};
}

}  // namespace tunebench::cli
