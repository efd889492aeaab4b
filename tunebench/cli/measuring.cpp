#include "tunebench/cli/measuring.h"

#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/log.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/interrupts.h"
#include "tunebench/cli/planned_comparison.h"
#include "tunebench/cli/progress_view.h"
#include "tunebench/cli/run_options.h"
#include "tunebench/report/select.h"
#include "tunebench/report/summary.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

namespace {

int exit_code(std::int64_t valid_points, std::int64_t failed_points) {
  if (failed_points == 0) {
    return kOk;
  }
  return valid_points == 0 ? kNothingMeasured : kSomeFailed;
}

int exit_code_of(const campaign::Result& result, int interrupted) {
  if (result.interrupted) {
    return interrupted == 0 ? static_cast<int>(kInterrupted) : interrupted;
  }
  return exit_code(result.valid_points, result.failed_points);
}

Json stale_json(const campaign::StaleResults& stale, bool accepted) {
  Json differences = Json::object();
  for (const auto& [difference, points] : stale.differences) {
    differences.set(difference, points);
  }
  return Json::object({{"points", stale.points},
                       {"too_old", stale.too_old},
                       {"differences", std::move(differences)},
                       {"accepted", accepted}});
}

std::string run_json(const std::vector<store::RunRecord>& records, const campaign::Result& result,
                     const campaign::Plan& plan, Json compared) {
  Json attempts = Json::array();
  for (const store::RunRecord& one : records) {
    attempts.push_back(record::flat(one.record)
                           .set("reused", one.reused)
                           .set("stale", one.stale.empty() ? Json() : Json(one.stale)));
  }
  return Json::object(
             {{"run", result.run},
              {"status", result.interrupted ? "interrupted" : "finished"},
              {"measured", result.measured},
              {"reused", result.reused},
              {"measured_before", result.kept},
              {"failed_points", result.failed_points},
              {"stop_reason",
               result.end_reason.empty() ? Json() : Json::parse(result.end_reason, "reason")},
              {"stale", stale_json(result.stale, plan.accept_stale)},
              {"points", report::result_json(report::summarise(records))},
              {"compared", std::move(compared)},
              {"records", std::move(attempts)}})
             .dump(2) +
         "\n";
}

std::string simulated_note(const std::vector<store::RunRecord>& records) {
  const bool simulated = std::any_of(records.begin(), records.end(), [](const auto& one) {
    return report::is_simulated(one.record);
  });
  return simulated ? "simulated: numbers of a model, nothing was measured\n" : "";
}

void tell_the_end(const campaign::Result& result, const Wanted& wanted, ProgressView& view) {
  const char* also = wanted.asked.trainer->name() == "simulated" ? " --simulated" : "";
  const std::int64_t known = result.measured + result.reused + result.kept;
  if (result.interrupted) {
    view.say(
        fmt::format("{}; {} measurements of this run are saved. The same command "
                    "goes on where it stopped: {}",
                    result.stopped_by_request ? "stopped" : "interrupted", known, wanted.command));
    view.say(fmt::format("continue this run: tunebench resume {}", result.run));
    return;
  }
  if (!result.end_reason.empty()) {
    const Json reason = Json::parse(result.end_reason, "reason");
    view.say(fmt::format("search ended: {}, {}", reason.at("reason").as_string(),
                         printable(reason.at("text").as_string())));
  }
  view.say(
      fmt::format("again with the same command: {} reused.   table: tunebench show {}{}   "
                  "file: tunebench export {}{} -o results.csv",
                  known, result.run, also, result.run, also));
}

/// Tells a caller the name of the run before anything else is told.
class NamingView : public ProgressView {
 public:
  NamingView(Console& console, const campaign::Plan& plan, bool quiet,
             const std::function<void(const std::string&)>& started)
      : ProgressView(console, system_clock(), plan, quiet), started_(started) {}
  void started(const store::Run& run, std::int64_t reused, std::int64_t kept) override {
    if (started_) {
      started_(run.name);
    }
    ProgressView::started(run, reused, kept);
  }

 private:
  const std::function<void(const std::string&)>& started_;
};

/// "6 min ago ", with a blank; empty when it is not known.
std::string ago(const std::string& iso_time) {
  const std::optional<std::int64_t> then = parse_iso_time(iso_time);
  if (!then) {
    return "";
  }
  const auto seconds =
      static_cast<double>(std::max<std::int64_t>(0, system_clock().unix_seconds() - *then));
  return seconds < 1 ? "just now " : format_duration(seconds) + " ago ";
}

}  // namespace

std::vector<std::string> dead_run_lines(store::Store& store, const std::string& but) {
  std::vector<std::string> lines;
  for (const store::Run& run : store.mark_dead_runs()) {
    if (run.name == but) {
      continue;
    }
    const std::int64_t saved = run.valid + run.failed + run.reused;
    lines.push_back(
        fmt::format("{} was interrupted {}after {} of {} measurements (all {} saved). Continue: {}",
                    run.name, ago(run.ended_at), saved, run.planned, saved,
                    run.plan.empty() ? printable(run.command) : "tunebench resume " + run.name));
  }
  return lines;
}

std::string absolute_location(const std::string& location) {
  return location.find("://") != std::string::npos
             ? location
             : std::filesystem::absolute(location).lexically_normal().string();
}

int exit_code_of(const store::Run& run, const std::vector<store::RunRecord>& records) {
  if (run.status == "interrupted") {
    return kInterrupted;
  }
  std::map<std::string, bool> points;
  for (const store::RunRecord& one : records) {
    if (one.record.status != record::Outcome::Interrupted) {
      bool& answered = points[one.record.point_key.empty() ? one.record.key : one.record.point_key];
      answered = answered || one.record.is_valid() ||
                 one.record.experiment.find("stability") != std::string::npos;
    }
  }
  const auto valid = std::ranges::count_if(points, [](const auto& point) { return point.second; });
  return exit_code(valid, std::ssize(points) - valid);
}

Invocation invocation_of(const std::vector<std::string>& words) {
  Invocation invocation{.line = {}, .words = words};
  invocation.line = config::parse_command_line(run_command().spec, std::span(words).subspan(1),
                                               invocation.problems);
  return invocation;
}

std::optional<Wanted> prepare(const Invocation& invocation, const campaign::StoredPlan* stored,
                              Console& console) {
  Diagnostics problems = invocation.problems;
  Wanted wanted{.asked = ask(invocation, problems, stored), .plan = {}};
  if (wanted.asked.files_are_wrong) {
    campaign::check_rule_texts(wanted.asked.request, problems);
  } else {
    wanted.plan = campaign::make_plan(wanted.asked.request, wanted.asked.machine, problems);
  }
  wanted.price = price_of(wanted.asked.line, problems);
  if (!problems.empty()) {
    print_plan_problems(console, invocation, problems);
    return std::nullopt;
  }
  wanted.location =
      absolute_location(store::default_store_location(wanted.asked.line.value("store")));
  wanted.plan_text = campaign::to_text(campaign::describe(
      wanted.plan, invocation.words, std::filesystem::current_path().string(), wanted.asked.files));
  wanted.command = typed_command(invocation.words);
  return wanted;
}

int measure(const Wanted& wanted, bool quiet, Console& console,
            const std::function<void(const std::string&)>& started) {
  print_notes(console, wanted.asked.notes);
  const std::unique_ptr<store::Store> store =
      store::open_store(wanted.location, store::OpenMode::Create);
  const PlannedComparison comparison(wanted.asked.request, *store, wanted.location);
  NamingView view(console, wanted.plan, quiet, started);
  set_log_sink([&view](LogLevel level, const std::string& text) {
    view.say((level == LogLevel::Warning ? "warning: " : "note: ") + mask_secrets(printable(text)));
  });
  for (const std::string& line : dead_run_lines(*store, wanted.resume)) {
    view.say(line);
  }
  Interrupts interrupts;
  const campaign::Result result =
      campaign::run_campaign(wanted.plan,
                             {.store = *store,
                              .trainer = *wanted.asked.trainer,
                              .clock = system_clock(),
                              .stop = interrupts.flag(),
                              .log_folder = store::folder_of_store(wanted.location) / "logs",
                              .command = wanted.command,
                              .idle = wanted.asked.idle,
                              .store_location = wanted.location,
                              .plan_text = wanted.plan_text,
                              .resume = wanted.resume},
                             view);
  set_log_sink(nullptr);
  std::vector<store::RunRecord> records = store->records_of(result.run);
  if (wanted.plan.accept_stale) {
    campaign::mark_stale(records, store->find_run(result.run));
  }
  if (wanted.price) {
    report::set_cost(records, *wanted.price);
  }
  const bool as_json = wanted.asked.line.has("json");
  if (!as_json && !records.empty()) {
    write_result(console,
                 report::result_text(report::summarise(records)) + simulated_note(records));
  }
  const int code = exit_code_of(result, interrupts.exit_code());
  Json compared;
  int compared_code = kOk;
  if (code == kOk || code == kSomeFailed) {
    compared_code =
        comparison.tell(store->find_run(result.run), console, as_json ? &compared : nullptr);
  }
  if (as_json) {
    write_result(console, run_json(records, result, wanted.plan, std::move(compared)));
  }
  tell_the_end(result, wanted, view);
  return compared_code == kOk ? code : compared_code;
}

}  // namespace tunebench::cli
