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

/// The option of an input: default, unit, domain and an example stand in its help.
config::OptionSpec input_option(const experiment::Property& property) {
  config::OptionSpec option{.name = property.name,
                            .value_name = property.type == experiment::ValueType::Integer ||
                                                  property.type == experiment::ValueType::Real
                                              ? "N"
                                              : "VALUE",
                            .help = property.help,
                            .group = property.ado ? "inputs" : "inputs of tunebench's own"};
  for (const std::string& name : split(property.short_options, ',')) {
    if (!name.empty()) {
      option.aliases.push_back(name);
    }
  }
  const Json& value = property.default_value;
  option.help += property.required ? "; required" : "; default " + report::input_text(value);
  if (!property.unit.empty()) {
    option.help += "; unit " + property.unit;
  }
  option.help += "; " + short_domain(property, 40);
  if (!property.native) {
    option.help += "; trainer native takes only the default";
  }
  return option;
}

campaign::Machine this_machine(const trainer::Trainer& trainer) {
  const hardware::HostInfo host = hardware::read_host();
  return {.trainer = trainer.name(),
          .trainer_version = trainer.version(),
          // What a model says does not depend on the machine that plays it.
          .hardware_class =
              trainer.name() == "simulated" ? "simulated" : hardware::hardware_class(host),
          .memory_bytes = host.memory_usable_bytes,
          .cores = host.cores_usable,
          .environment = environment_now(trainer)};
}

/// Runs that died since the last call: their results are safe, and the user is told.
void tell_dead_runs(store::Store& store, ProgressView& view) {
  for (const store::Run& run : store.mark_dead_runs()) {
    const std::size_t saved = store.records_of(run.name).size();
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

/// All of its results are those of a model.
bool plays_a_model(const trainer::Trainer& trainer) {
  return trainer.name() == "simulated";
}

struct Planned {
  campaign::Plan plan;
  measure::IdleRules idle = {};
  std::unique_ptr<trainer::TrainerSet> trainer;
};

/// Everything that can be wrong with what the user gave is found here, before a file is touched.
Planned plan_of(const Invocation& invocation, Diagnostics& problems) {
  const campaign::Request request = request_of(invocation.line, problems);
  Planned planned{.plan = {}, .trainer = trainers_of(invocation.line, request, problems)};
  planned.idle = idle_rules_of(invocation.line, problems);
  const std::vector<std::unique_ptr<trainer::Trainer>>& trainers = planned.trainer->all();
  campaign::Machine machine = this_machine(*trainers.front());
  if (request.order_seed) {
    machine.environment.set("order_seed", static_cast<std::int64_t>(*request.order_seed));
  }
  if (!invocation.line.words_after.empty()) {
    machine.environment.set("command",
                            config::shell_line(mask_secrets(invocation.line.words_after)));
  }
  for (std::size_t other = 1; other < trainers.size(); ++other) {
    machine.others.push_back(this_machine(*trainers[other]));
  }
  planned.plan = campaign::make_plan(request, std::move(machine), problems);
  return planned;
}

int run(const Invocation& invocation, Console& console) {
  Diagnostics problems = invocation.problems;
  Planned planned = plan_of(invocation, problems);
  const std::optional<double> price = price_of(invocation.line, problems);
  if (!problems.empty()) {
    print_problems(console, problems);
    console.err << "see: tunebench run --help, tunebench inputs\n";
    return kUsage;
  }
  const std::filesystem::path file = store::default_store_path(invocation.line.value("store"));
  const std::unique_ptr<store::Store> store = store::open_store(file, store::OpenMode::Create);
  const bool quiet = invocation.line.has("quiet");
  ProgressView view(console, system_clock(), planned.plan, quiet);
  set_log_sink([&view](LogLevel level, const std::string& text) {
    view.say((level == LogLevel::Warning ? "warning: " : "note: ") + mask_secrets(printable(text)));
  });
  tell_dead_runs(*store, view);

  std::vector<std::string> words{"tunebench"};
  words.insert(words.end(), invocation.words.begin(), invocation.words.end());
  const std::string command = config::shell_line(mask_secrets(words));
  Interrupts interrupts;
  const campaign::Result result = campaign::run_campaign(planned.plan,
                                                         {.store = *store,
                                                          .trainer = *planned.trainer,
                                                          .clock = system_clock(),
                                                          .stop = interrupts.flag(),
                                                          .log_folder = file.parent_path() / "logs",
                                                          .command = command,
                                                          .idle = planned.idle},
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
  tell_the_end(result, command, plays_a_model(*planned.trainer), view);
  return exit_code_of(result, interrupts.exit_code());
}

}  // namespace

Command run_command() {
  config::CommandSpec spec{
      .name = "run",
      .summary =
          "measure every combination of the given inputs. An input takes one value, a list "
          "4,8 or a range 1..8 or 512..2048:512. What was measured before is reused.",
      .examples = {"tunebench run --model tiny --length 32,64 --batch 1,2",
                   "tunebench run --model smollm2-135m --length 512,1024 --batch 1,2",
                   "tunebench run --model DIR --dataset FILE.jsonl --length 512 --batch 1 "
                   "--until 1%",
                   "tunebench run --model tiny --length 32 --batch 1 --trainer simulated "
                   "--simulation FILE.json",
                   "tunebench run --model DIR --length 512 --batch 1,2 --trainer native,hf",
                   "tunebench run --model DIR --length 512 --batch 1 --trainer command -- "
                   "python train.py --model {model_name} --steps {planned_steps}"},
      .words_after = "PROGRAM [ARGUMENTS]"};
  spec.options = run_options();
  for (const experiment::Property& property : experiment::properties()) {
    spec.options.push_back(input_option(property));
  }
  return {std::move(spec), run};
}

}  // namespace tunebench::cli
