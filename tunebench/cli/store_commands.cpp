#include <map>
#include <ostream>
#include <span>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/campaign/stored_plan.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/exchange_commands.h"
#include "tunebench/cli/measuring.h"
#include "tunebench/cli/results.h"
#include "tunebench/cli/run_options.h"
#include "tunebench/report/aggregate.h"
#include "tunebench/report/export.h"
#include "tunebench/report/select.h"
#include "tunebench/report/summary.h"
#include "tunebench/report/text_table.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

namespace {

using report::TextTable;

struct Counts {
  std::int64_t valid = 0;
  std::int64_t reused = 0;
  std::int64_t failed = 0;
};

Counts count(const std::vector<store::RunRecord>& records) {
  Counts counts;
  for (const store::RunRecord& one : records) {
    ++(!one.record.is_valid() ? counts.failed : one.reused ? counts.reused : counts.valid);
  }
  return counts;
}

Json run_json(const store::Run& run, const Counts& counts) {
  return Json::object(
      {{"run", run.name},
       {"status", run.status},
       {"started_at", run.started_at},
       {"ended_at", run.ended_at.empty() ? Json() : Json(run.ended_at)},
       {"planned", run.planned},
       {"measured", counts.valid},
       {"reused", counts.reused},
       {"failed", counts.failed},
       {"host", run.host},
       {"stop_reason",
        run.stop_reason.empty() ? Json() : Json::parse(run.stop_reason, "stop reason")},
       {"command", run.command}});
}

/// The points that are asked for, in the order asked for, and the attempts at them.
struct ShownPoints {
  std::vector<report::PointSummary> points;
  std::vector<std::size_t> attempts;  ///< indices of records
  std::size_t all = 0;                ///< points before the selection
};

/// `selection` null: all.
ShownPoints shown_points(const std::vector<store::RunRecord>& records,
                         const analyze::Selection* selection) {
  const std::vector<report::PointSummary> all = report::summarise(records);
  ShownPoints shown{.points = {}, .attempts = {}, .all = all.size()};
  std::map<std::string, std::size_t> places;  // of keys: the order of summarise and aggregate
  for (const store::RunRecord& one : records) {
    places.try_emplace(one.record.key, places.size());
  }
  std::vector<bool> is_taken(all.size(), selection == nullptr);
  if (selection == nullptr) {
    shown.points = all;
  } else {
    for (const std::size_t index : selection->apply(report::aggregate(records))) {
      shown.points.push_back(all[index]);
      is_taken[index] = true;
    }
  }
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (is_taken[places.at(records[i].record.key)]) {
      shown.attempts.push_back(i);
    }
  }
  return shown;
}

/// "stopped: count: 20 points are measured" of a run that says why it ended; else empty.
std::string reason_line(const store::Run& run) {
  if (run.stop_reason.empty()) {
    return "";
  }
  const Json reason = Json::parse(run.stop_reason, "stop reason");
  const Json* text = reason.find("text");
  return fmt::format("ended: {}{}\n", reason.at("reason").as_string(),
                     text == nullptr ? "" : ", " + printable(text->as_string()));
}

/// The command of a run; what may make it mean something else now is told.
int show_command_of(const store::Run& run, Console& console) {
  write_result(console, run.command + "\n");
  if (run.plan.empty()) {
    return kOk;
  }
  const campaign::StoredPlan plan = campaign::stored_plan(run);
  std::error_code failure;
  const bool here = std::filesystem::current_path(failure) == plan.folder;
  if (!here) {
    console.err << "note: it was given in " << printable(plan.folder) << "\n";
  }
  for (const auto& [name, text] : plan.files) {
    if (here && name.ends_with("ml") &&
        (!std::filesystem::exists(name, failure) || read_file(name) != text)) {
      console.err << fmt::format(
          "note: {} has changed since; tunebench rerun {} takes it as it was\n", printable(name),
          run.name);
    }
  }
  return kOk;
}

int show_run(const Invocation& invocation, Console& console) {
  Diagnostics problems;
  const std::optional<double> price = price_of(invocation.line, problems);
  const auto selection = selection_of(invocation.line, report::aggregate_columns(), problems);
  if (tell_mistakes(problems, invocation, console)) {
    return kUsage;
  }
  const std::unique_ptr<store::Store> store = open_for_reading(invocation.line, console);
  const store::Run run = store->find_run(invocation.line.argument(0).value_or("@last"));
  if (invocation.line.has("as_command")) {
    return show_command_of(run, console);
  }
  std::vector<store::RunRecord> records = store->records_of(run.name);
  campaign::mark_stale(records, run);
  keep_measured(records, invocation, console);
  add_cost(records, price);
  const ShownPoints shown =
      shown_points(records, has_selection(invocation.line) ? &*selection : nullptr);
  const Counts counts = count(records);
  if (invocation.json()) {
    Json attempts = Json::array();
    for (const std::size_t index : shown.attempts) {
      Json row = record::flat(records[index].record).set("reused", records[index].reused);
      if (records[index].reused && row.at("source") == Json("measured")) {
        row.set("source", "reused");
      }
      const std::string& stale = records[index].stale;
      attempts.push_back(row.set("stale", stale.empty() ? Json() : Json(stale)));
    }
    write_result(console, run_json(run, counts)
                                  .set("schema", "tunebench.show/1")
                                  .set("points", report::result_json(shown.points))
                                  .set("records", std::move(attempts))
                                  .dump(2) +
                              "\n");
    return kOk;
  }
  std::string text =
      fmt::format("run {}  {}  {}  {} planned, {} measured, {} reused, {} failed\n{}\n\n", run.name,
                  run.started_at, run.status, run.planned, counts.valid, counts.reused,
                  counts.failed, printable(run.command));
  text.insert(text.size() - 1, reason_line(run));
  text += shown.points.empty()
              ? std::string(shown.all == 0 ? "no measurements\n" : "no point of it\n")
              : report::result_text(shown.points);
  if (shown.points.size() != shown.all) {
    text += fmt::format("{} of {} points shown\n", shown.points.size(), shown.all);
  }
  for (const std::size_t index : shown.attempts) {
    const record::Record& record = records[index].record;
    if (!record.is_valid() && !record.log_path.empty()) {
      text += fmt::format("log: tunebench logs {}/{}\n", run.name, index + 1);
    }
  }
  write_result(console, text);
  return kOk;
}

/// --format, else the ending of the file, else csv.
report::Format format_of(const Invocation& invocation) {
  const config::GivenOption* given = invocation.line.find("format");
  if (given != nullptr && invocation.json() && given->value != "json") {
    throw Error(ErrorCode::InvalidInput,
                "--json and --format " + printable(given->value) + " contradict each other");
  }
  std::string name = invocation.json() ? "json" : invocation.line.value("format");
  if (name.empty()) {
    const std::string file = invocation.line.value("output");
    const std::size_t dot = file.rfind('.');
    const std::string ending = dot == std::string::npos ? "" : file.substr(dot + 1);
    return report::find_format(ending).value_or(report::Format::Csv);
  }
  const std::optional<report::Format> format = report::find_format(name);
  if (!format) {
    const std::string hint = did_you_mean(name, report::format_names());
    throw Error(ErrorCode::InvalidInput,
                fmt::format("--format: '{}' is none of {}{}", printable(name),
                            join(report::format_names(), ", "), hint.empty() ? "" : " - " + hint));
  }
  return *format;
}

int export_results(const Invocation& invocation, Console& console) {
  if (invocation.line.has("bundle")) {
    return export_bundle(invocation, console);
  }
  if (invocation.line.arguments.size() > 1) {
    throw Error(ErrorCode::InvalidInput,
                "several runs go into a bundle only: --bundle FILE.tar.gz");
  }
  const report::Format format = format_of(invocation);
  // The reference system has one row per point.
  const bool aggregate = invocation.line.has("aggregate") || format == report::Format::AdoCsv;
  const Json columns = aggregate ? report::aggregate_columns() : record::flat(record::Record{});
  Diagnostics problems;
  const std::optional<double> price = price_of(invocation.line, problems);
  const auto selection = selection_of(invocation.line, columns, problems);
  if (tell_mistakes(problems, invocation, console)) {
    return kUsage;
  }
  const std::unique_ptr<store::Store> store = open_for_reading(invocation.line, console);
  std::vector<store::RunRecord> records = records_named(*store, invocation.line.argument(0));
  keep_measured(records, invocation, console);
  add_cost(records, price);
  std::vector<Json> rows;
  if (aggregate) {
    rows = report::aggregate(records);
  } else {
    for (const store::RunRecord& one : records) {
      Json row = record::flat(one.record);
      if (selection->takes(row)) {  // a row takes more memory than its record
        rows.push_back(std::move(row));
      }
    }
  }
  if (has_selection(invocation.line)) {
    std::vector<Json> taken;
    for (const std::size_t index : selection->apply(rows)) {
      taken.push_back(std::move(rows[index]));
    }
    rows = std::move(taken);
  }
  write_result(console, report::export_rows(rows, columns, format),
               invocation.line.value("output"));
  return kOk;
}

config::CommandSpec with_selection(config::CommandSpec spec) {
  for (config::OptionSpec& option : selection_options()) {
    spec.options.push_back(std::move(option));
  }
  return spec;
}

}  // namespace

Command show_command() {
  return {
      with_selection(
          {.name = "show",
           .summary = "show the table of a run",
           .arguments = {{"RUN", "name, the beginning of one, @last (default) or @last~1", false}},
           .options = {{.name = "as_command",
                        .takes_value = false,
                        .help = "print the command that began it instead"},
                       simulated_option(),
                       price_option(),
                       store_option(),
                       json_option()},
           .examples = {"tunebench show", "tunebench show @last~1 --json"}}),
      show_run};
}

Command export_command() {
  return {
      with_selection(
          {.name = "export",
           .summary = "write measurements as CSV, JSON, JSON lines, Markdown, SQL, Parquet or the "
                      "reference system's CSV",
           .arguments = {{"RUN", "only this run; without it, all that the store holds", false,
                          true}},
           .options =
               {{.name = "format",
                 .value_name = "csv|json|jsonl|md|sql|parquet|ado-csv",
                 .help = "default: what the ending of the output file says, else csv"},
                {.name = "output",
                 .aliases = {"-o"},
                 .value_name = "FILE",
                 .help = "file to write, whole or not at all; - or nothing: standard output"},
                {.name = "aggregate",
                 .takes_value = false,
                 .help = "one row per point: median, mean, 95 % interval and n of each figure"},
                {.name = "bundle",
                 .value_name = "FILE",
                 .help = "runs with their logs and environments for another store: NAME.tar.gz or "
                         "NAME.tar.zst, which tunebench import reads"},
                simulated_option(),
                price_option(),
                store_option(),
                json_option()},
           .examples = {"tunebench export @last --format json -o results.json",
                        "tunebench export --format csv", "tunebench export --bundle all.tar.gz"}}),
      export_results};
}

}  // namespace tunebench::cli
