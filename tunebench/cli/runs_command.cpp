#include <algorithm>
#include <optional>

#include <fmt/core.h>

#include "tunebench/base/clock.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/results.h"
#include "tunebench/report/comparison.h"
#include "tunebench/report/text_table.h"
#include "tunebench/store/heartbeat.h"

namespace tunebench::cli {
namespace {

std::int64_t done(const store::Run& run) {
  return run.valid + run.failed + run.reused;
}

std::optional<std::int64_t> age(const std::string& iso) {
  const std::optional<std::int64_t> then = parse_iso_time(iso);
  return then ? std::optional(system_clock().unix_seconds() - *then) : std::nullopt;
}

std::string age_of(const std::string& iso) {
  const std::optional<std::int64_t> seconds = age(iso);
  return seconds ? report::age_text(*seconds) : "";
}

/// What the row says; where the store could only be read, a lease that is over stands in it still.
std::string state_of(const store::Run& run) {
  if (!run.trashed_at.empty()) {
    return run.status + ", in the trash";
  }
  const std::int64_t silent = system_clock().unix_seconds() - run.heartbeat;
  if (run.status == "running" && run.heartbeat != 0 && silent > store::kLease.count()) {
    return fmt::format("running, silent for {}", format_duration(static_cast<double>(silent)));
  }
  return run.status == "running" && run.stop_requested ? "running, asked to stop" : run.status;
}

Json run_row(const store::Run& run) {
  Json tags = Json::array();
  for (const std::string& tag : run.tags) {
    tags.push_back(tag);
  }
  const std::optional<std::int64_t> seconds = age(run.started_at);
  return Json::object({{"run", run.name},
                       {"status", run.status},
                       {"started_at", run.started_at},
                       {"ended_at", run.ended_at.empty() ? Json() : Json(run.ended_at)},
                       {"age_s", seconds ? Json(*seconds) : Json()},
                       {"planned", run.planned},
                       {"done", done(run)},
                       {"measured", run.valid},
                       {"reused", run.reused},
                       {"failed", run.failed},
                       {"tags", std::move(tags)},
                       {"simulated", run.simulated},
                       {"stop_requested", run.stop_requested},
                       {"trashed_at", run.trashed_at.empty() ? Json() : Json(run.trashed_at)},
                       {"host", run.host},
                       {"command", run.command}});
}

report::TextTable table_of(const std::vector<const store::Run*>& runs) {
  using Align = report::TextTable::Align;
  report::TextTable table;
  table.add_column("run");
  table.add_column("started");
  table.add_column("status");
  table.add_column("done", Align::Right);
  for (const char* title : {"reused", "failed"}) {
    table.add_column(title, Align::Right);
  }
  table.add_column("tags");
  table.add_column("command");
  for (const store::Run* run : runs) {
    table.add_row({run->name, age_of(run->started_at), state_of(*run),
                   fmt::format("{}/{}", done(*run), run->planned), std::to_string(run->reused),
                   std::to_string(run->failed), join(run->tags, ","), run->command});
  }
  return table;
}

/// The rows that --where and the like leave, in their order.
void write_runs(const std::vector<store::Run>& runs, const analyze::Selection& selection,
                const Invocation& invocation, Console& console) {
  std::vector<Json> all;
  all.reserve(runs.size());
  for (const store::Run& run : runs) {
    all.push_back(run_row(run));
  }
  Json rows = Json::array();
  std::vector<const store::Run*> shown;
  for (const std::size_t index : selection.apply(all)) {
    rows.push_back(all[index]);
    shown.push_back(&runs[index]);
  }
  write_result(console, invocation.json() ? rows.dump(2) + "\n" : table_of(shown).text());
}

int list_runs(const Invocation& invocation, Console& console) {
  Diagnostics problems;
  const auto selection = selection_of(invocation.line, run_row(store::Run{}), problems);
  if (tell_mistakes(problems, invocation, console)) {
    return kUsage;
  }
  const std::unique_ptr<store::Store> store = open_for_reading(invocation.line, console);
  std::vector<store::Run> runs = store->runs();
  if (invocation.line.has("all")) {
    const std::vector<store::Run> trashed = store->trashed_runs();
    runs.insert(runs.end(), trashed.begin(), trashed.end());
  }
  std::size_t left_out = 0;
  if (!invocation.line.has("simulated")) {
    left_out = std::erase_if(runs, [](const store::Run& run) { return run.simulated; });
  }
  write_runs(runs, *selection, invocation, console);
  if (left_out > 0) {
    console.err << fmt::format("{} simulated runs are left out; --simulated shows them\n",
                               left_out);
  }
  return kOk;
}

}  // namespace

Command runs_command() {
  Command command{{.name = "runs",
                   .summary = "list the runs, newest first: running, finished, interrupted or "
                              "imported",
                   .options = {{.name = "all",
                                .takes_value = false,
                                .help = "also those in the trash, after all others"},
                               simulated_option(),
                               store_option(),
                               json_option()},
                   .examples = {"tunebench runs", "tunebench runs --all --json"}},
                  list_runs};
  const std::vector<config::OptionSpec> selection = selection_options();
  command.spec.options.insert(command.spec.options.begin(), selection.begin(), selection.end());
  return command;
}

}  // namespace tunebench::cli
