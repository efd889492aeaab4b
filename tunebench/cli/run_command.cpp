#include <algorithm>
#include <memory>
#include <ostream>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/log.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/campaign/campaign.h"
#include "tunebench/cli/asked.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/environment.h"
#include "tunebench/cli/interrupts.h"
#include "tunebench/cli/progress_view.h"
#include "tunebench/cli/run_options.h"
#include "tunebench/experiment/experiment.h"
#include "tunebench/hardware/host.h"
#include "tunebench/report/select.h"
#include "tunebench/report/summary.h"
#include "tunebench/store/store.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::cli {

namespace {

/// Runs that died since the last call: their results are safe, and the user is told.
void tell_dead_runs(store::Store& store, ProgressView& view) {
  for (const store::Run& run : store.mark_dead_runs()) {
    const std::int64_t saved = run.valid + run.failed + run.reused;
    view.say(
        fmt::format("{} was interrupted after {} of {} measurements (all {} saved). The same "
                    "command goes on where it stopped: {}",
                    run.name, saved, run.planned, saved, printable(run.command)));
  }
}

int exit_code_of(const campaign::Result& result, int interrupted) {
  if (result.interrupted) {
    return interrupted == 0 ? static_cast<int>(kInterrupted) : interrupted;
  }
  if (result.failed_points == 0) {
    return kOk;
  }
  return result.valid_points == 0 ? kNothingMeasured : kSomeFailed;
}

std::string run_json(const std::vector<store::RunRecord>& records, const campaign::Result& result) {
  Json attempts = Json::array();
  for (const store::RunRecord& one : records) {
    attempts.push_back(record::flat(one.record).set("reused", one.reused));
  }
  return Json::object({{"run", result.run},
                       {"status", result.interrupted ? "interrupted" : "finished"},
                       {"measured", result.measured},
                       {"reused", result.reused},
                       {"failed_points", result.failed_points},
                       {"points", report::result_json(report::summarise(records))},
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

void tell_the_end(const campaign::Result& result, const std::string& command, bool simulated,
                  ProgressView& view) {
  const char* also = simulated ? " --simulated" : "";
  const std::int64_t known = result.measured + result.reused;
  if (result.interrupted) {
    view.say(
        fmt::format("interrupted; {} measurements of this run are saved. The same command "
                    "goes on where it stopped: {}",
                    known, command));
    return;
  }
  view.say(
      fmt::format("again with the same command: {} reused.   table: tunebench show {}{}   "
                  "file: tunebench export {}{} -o results.csv",
                  known, result.run, also, result.run, also));
}

int run(const Invocation& invocation, Console& console) {
  Diagnostics problems = invocation.problems;
  Asked asked = ask(invocation, problems);
  campaign::Plan plan;
  if (asked.files_are_wrong) {
    campaign::check_rule_texts(asked.request, problems);
  } else {
    plan = campaign::make_plan(asked.request, asked.machine, problems);
  }
  const std::optional<double> price = price_of(asked.line, problems);
  if (!problems.empty()) {
    print_plan_problems(console, invocation, problems);
    return kUsage;
  }
  if (const config::GivenOption* save = invocation.line.find("save_plan")) {
    return save_plan(asked, save->value, console);
  }
  for (const std::string& note : asked.notes) {
    console.err << "note: " << printable(note) << "\n";
  }
  const std::string location = store::default_store_location(asked.line.value("store"));
  const std::unique_ptr<store::Store> store = store::open_store(location, store::OpenMode::Create);
  const bool quiet = invocation.line.has("quiet");
  ProgressView view(console, system_clock(), plan, quiet);
  set_log_sink([&view](LogLevel level, const std::string& text) {
    view.say((level == LogLevel::Warning ? "warning: " : "note: ") + mask_secrets(printable(text)));
  });
  tell_dead_runs(*store, view);

  std::vector<std::string> words{"tunebench"};
  words.insert(words.end(), invocation.words.begin(), invocation.words.end());
  const std::string command = config::shell_line(mask_secrets(words));
  Interrupts interrupts;
  const campaign::Result result =
      campaign::run_campaign(plan,
                             {.store = *store,
                              .trainer = *asked.trainer,
                              .clock = system_clock(),
                              .stop = interrupts.flag(),
                              .log_folder = store::folder_of_store(location) / "logs",
                              .command = command,
                              .idle = asked.idle},
                             view);
  set_log_sink(nullptr);
  std::vector<store::RunRecord> records = store->records_of(result.run);
  if (price) {
    report::set_cost(records, *price);
  }
  if (invocation.json()) {
    write_result(console, run_json(records, result));
  } else if (!records.empty()) {
    write_result(console,
                 report::result_text(report::summarise(records)) + simulated_note(records));
  }
  tell_the_end(result, command, asked.trainer->name() == "simulated", view);
  return exit_code_of(result, interrupts.exit_code());
}

}  // namespace

Command run_command() {
  config::CommandSpec spec{
      .name = "run",
      .summary =
          "measure every combination of the given inputs. An input takes one value, a list 4,8 or "
          "a range 1..8, 512..2048:512 or 1e-6..1e-3*10. What was measured before is reused.",
      .details =
          "FILE is a plan (docs/file-formats.md) or files of ado, given together "
          "(docs/ado.md); options win over what it says. tunebench plan takes the same words and "
          "only tells what a run would do.",
      .arguments = {{.name = "FILE",
                     .help = "a plan file, or files of ado",
                     .required = false,
                     .repeats = true}},
      .options = asking_options(),
      .examples = {"tunebench run --model tiny --length 32,64 --batch 1,2",
                   "tunebench run --model smollm2-135m --length 512,1024 --batch 1,2",
                   "tunebench run plan.yaml --repeats 5",
                   "tunebench run --model tiny --length 32,64 --batch 1..8 --where "
                   "'model_max_length * batch_size <= 256' --save-plan plan.yaml",
                   "tunebench run space.yaml operation.yaml actuatorconfiguration.yaml",
                   "tunebench run --model DIR --dataset FILE.jsonl --length 512 --batch 1 "
                   "--until 1%",
                   "tunebench run --model tiny --length 32 --batch 1 --trainer simulated "
                   "--simulation FILE.json"}};
  return {std::move(spec), run};
}

}  // namespace tunebench::cli
