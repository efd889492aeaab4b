#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/campaign/stored_plan.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/measuring.h"
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

/// Opens an existing store, sets right the status of runs whose process is gone, and tells which.
std::unique_ptr<store::Store> open_for_reading(const config::CommandLine& line, Console& console) {
  const std::string location = store::default_store_location(line.value("store"));
  std::unique_ptr<store::Store> store = store::open_store(location, store::OpenMode::ReadOnly);
  try {
    const auto writable = store::open_store(location, store::OpenMode::Existing);
    for (const std::string& told : dead_run_lines(*writable)) {
      console.err << told << "\n";
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Io) {
      throw;
    }
    // A store that may only be read is shown as it is.
  }
  return store;
}

config::OptionSpec simulated_option() {
  return {.name = "simulated",
          .takes_value = false,
          .help = "also what trainer simulated made; its numbers are those of a model"};
}

/// Leaves out what the user did not ask for, and says so.
void keep_measured(std::vector<store::RunRecord>& records, const Invocation& invocation,
                   Console& console) {
  if (invocation.line.has("simulated")) {
    return;
  }
  const std::size_t count = report::remove_simulated(records);
  if (count > 0) {
    console.err << fmt::format("{} simulated measurements are left out; --simulated shows them\n",
                               count);
  }
}

/// Sets the cost of each record when there is a price. Errors: InvalidInput.
void add_cost(std::vector<store::RunRecord>& records, const config::CommandLine& line) {
  Diagnostics problems;
  const std::optional<double> price = price_of(line, problems);
  if (!problems.empty()) {
    throw Error(ErrorCode::InvalidInput, problems.front().line());
  }
  if (price) {
    report::set_cost(records, *price);
  }
}

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

int list_runs(const Invocation& invocation, Console& console) {
  const std::unique_ptr<store::Store> store = open_for_reading(invocation.line, console);
  Json rows = Json::array();
  TextTable table;
  table.add_column("run");
  table.add_column("started");
  table.add_column("status");
  for (const char* title : {"planned", "measured", "reused", "failed"}) {
    table.add_column(title, TextTable::Align::Right);
  }
  table.add_column("command");
  std::size_t left_out = 0;
  for (const store::Run& run : store->runs()) {
    if (!invocation.line.has("simulated") && run.simulated) {
      ++left_out;
      continue;
    }
    const Counts counts{.valid = run.valid, .reused = run.reused, .failed = run.failed};
    table.add_row({run.name, run.started_at, run.status, std::to_string(run.planned),
                   std::to_string(counts.valid), std::to_string(counts.reused),
                   std::to_string(counts.failed), run.command});
    rows.push_back(run_json(run, counts));
  }
  write_result(console, invocation.json() ? rows.dump(2) + "\n" : table.text());
  if (left_out > 0) {
    console.err << fmt::format("{} simulated runs are left out; --simulated shows them\n",
                               left_out);
  }
  return kOk;
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
  const std::unique_ptr<store::Store> store = open_for_reading(invocation.line, console);
  const store::Run run = store->find_run(invocation.line.argument(0).value_or("@last"));
  if (invocation.line.has("as_command")) {
    return show_command_of(run, console);
  }
  std::vector<store::RunRecord> records = store->records_of(run.name);
  campaign::mark_stale(records, run);
  keep_measured(records, invocation, console);
  add_cost(records, invocation.line);
  const std::vector<report::PointSummary> points = report::summarise(records);
  const Counts counts = count(records);
  if (invocation.json()) {
    Json attempts = Json::array();
    for (const store::RunRecord& one : records) {
      attempts.push_back(record::flat(one.record)
                             .set("reused", one.reused)
                             .set("stale", one.stale.empty() ? Json() : Json(one.stale)));
    }
    write_result(console, run_json(run, counts)
                                  .set("points", report::result_json(points))
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
  text += points.empty() ? std::string("no measurements\n") : report::result_text(points);
  for (const store::RunRecord& one : records) {
    if (!one.record.is_valid() && !one.record.log_path.empty()) {
      text += fmt::format("log: tunebench logs {}/{}\n", run.name, &one - records.data() + 1);
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
  const report::Format format = format_of(invocation);
  const std::unique_ptr<store::Store> store = open_for_reading(invocation.line, console);
  std::vector<store::RunRecord> records;
  if (const std::optional<std::string> name = invocation.line.argument(0)) {
    records = store->records_of(store->find_run(*name).name);
  } else {
    for (record::Record& record : store->all_records()) {
      records.push_back({.record = std::move(record)});
    }
  }
  keep_measured(records, invocation, console);
  add_cost(records, invocation.line);
  if (invocation.line.has("aggregate")) {
    write_result(
        console,
        report::export_rows(report::aggregate(records), report::aggregate_columns(), format),
        invocation.line.value("output"));
    return kOk;
  }
  std::vector<record::Record> attempts;
  for (store::RunRecord& one : records) {
    attempts.push_back(std::move(one.record));
  }
  write_result(console, report::export_records(attempts, format), invocation.line.value("output"));
  return kOk;
}

}  // namespace

Command runs_command() {
  return {{.name = "runs",
           .summary = "list the runs, newest first",
           .options = {simulated_option(), store_option(), json_option()},
           .examples = {"tunebench runs"}},
          list_runs};
}

Command show_command() {
  return {{.name = "show",
           .summary = "show the table of a run",
           .arguments = {{"RUN", "name, the beginning of one, @last (default) or @last~1", false}},
           .options = {{.name = "as_command",
                        .takes_value = false,
                        .help = "print the command that began it instead"},
                       simulated_option(),
                       price_option(),
                       store_option(),
                       json_option()},
           .examples = {"tunebench show", "tunebench show @last~1 --json"}},
          show_run};
}

Command export_command() {
  return {
      {.name = "export",
       .summary = "write measurements as CSV, JSON, JSON lines or Markdown",
       .arguments = {{"RUN", "only this run; without it, all that the store holds", false}},
       .options = {{.name = "format",
                    .value_name = "csv|json|jsonl|md",
                    .help = "default: what the ending of the output file says, else csv"},
                   {.name = "output",
                    .aliases = {"-o"},
                    .value_name = "FILE",
                    .help = "file to write, whole or not at all; - or nothing: standard output"},
                   {.name = "aggregate",
                    .takes_value = false,
                    .help = "one row per point: median, mean, 95 % interval and n of each figure"},
                   simulated_option(),
                   price_option(),
                   store_option(),
                   json_option()},
       .examples = {"tunebench export @last --format json -o results.json",
                    "tunebench export --format csv"}},
      export_results};
}

}  // namespace tunebench::cli
