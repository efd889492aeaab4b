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
#include "tunebench/experiment/experiment.h"
#include "tunebench/hardware/host.h"
#include "tunebench/report/summary.h"
#include "tunebench/store/store.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::cli {

namespace {

constexpr const char* kDefaultExperiment = "finetune_full_benchmark-v1.0.0";

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

const experiment::Experiment* experiment_of(const config::CommandLine& line,
                                            Diagnostics& problems) {
  const std::string id = line.value("experiment", kDefaultExperiment);
  const experiment::Experiment* found = experiment::find_experiment(id);
  std::vector<std::string> runnable;
  std::vector<std::string> names;
  for (const experiment::Experiment& one : experiment::experiments()) {
    names.push_back(one.id);
    if (one.runnable) {
      runnable.push_back(one.id);
    }
  }
  if (found == nullptr) {
    problems.push_back({"--experiment", fmt::format("unknown experiment '{}'", printable(id)),
                        did_you_mean(id, names)});
  } else if (!found->runnable) {
    problems.push_back({"--experiment", fmt::format("{} cannot be run by this version", found->id),
                        "what it can run: " + join(runnable, ", ")});
  }
  return found != nullptr && found->runnable ? found
                                             : experiment::find_experiment(kDefaultExperiment);
}

/// The given values of all inputs. Where a required one cannot be read, a legal value stands in for
/// it, so that the other mistakes are found too.
std::vector<experiment::GivenValues> given_values(const config::CommandLine& line,
                                                  Diagnostics& problems) {
  std::vector<experiment::GivenValues> given;
  for (const config::GivenOption& option : line.options) {
    const experiment::Property* property = experiment::find_property(option.name);
    if (property == nullptr) {
      continue;
    }
    std::vector<Json> values =
        experiment::parse_values(*property, option.value, option.spelled, problems);
    if (values.empty() && property->required && property->domain.lower) {
      values.emplace_back(static_cast<std::int64_t>(*property->domain.lower));
    }
    if (!values.empty()) {
      given.push_back({property->name, std::move(values)});
    }
  }
  return given;
}

std::optional<double> timeout_of(const config::CommandLine& line, Diagnostics& problems) {
  const config::GivenOption* given = line.find("timeout");
  if (given == nullptr) {
    return std::nullopt;
  }
  const std::optional<double> seconds = parse_real(given->value);
  if (!seconds || *seconds <= 0) {
    problems.push_back(
        {given->spelled,
         fmt::format("'{}' is not a number of seconds above 0", printable(given->value)), ""});
  }
  return seconds;
}

measure::IdleRules idle_rules_of(const config::CommandLine& line, Diagnostics& problems) {
  measure::IdleRules rules;
  if (const config::GivenOption* given = line.find("wait_idle")) {
    const std::optional<double> seconds = parse_real(given->value);
    if (!seconds || *seconds < 0) {
      problems.push_back({given->spelled,
                          fmt::format("'{}' is not a number of seconds", printable(given->value)),
                          ""});
    }
    rules.wait_s = seconds.value_or(0);
  }
  if (const config::GivenOption* given = line.find("if_busy")) {
    rules.refuse = given->value == "refuse";
    if (!rules.refuse && given->value != "warn") {
      problems.push_back({given->spelled,
                          fmt::format("'{}' is none of warn, refuse", printable(given->value)),
                          ""});
    }
  }
  return rules;
}

campaign::Machine this_machine(const trainer::Trainer& trainer) {
  const hardware::HostInfo host = hardware::read_host();
  return {.trainer = trainer.name(),
          .trainer_version = trainer.version(),
          .hardware_class = hardware::hardware_class(host),
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

void tell_the_end(const campaign::Result& result, const std::string& command, ProgressView& view) {
  const std::int64_t known = result.measured + result.reused;
  if (result.interrupted) {
    view.say(
        fmt::format("interrupted; {} measurements of this run are saved. The same command "
                    "goes on where it stopped: {}",
                    known, command));
    return;
  }
  view.say(
      fmt::format("again with the same command: {} reused.   table: tunebench show {}   "
                  "file: tunebench export {} -o results.csv",
                  known, result.run, result.run));
}

struct Planned {
  campaign::Plan plan;
  measure::IdleRules idle = {};
  std::unique_ptr<trainer::Trainer> trainer;
};

/// Everything that can be wrong with what the user gave is found here, before a file is touched.
Planned plan_of(const Invocation& invocation, Diagnostics& problems) {
  const config::CommandLine& line = invocation.line;
  Planned planned{.plan = {}, .trainer = trainer::make_native_trainer()};
  const campaign::Request request{.experiment = experiment_of(line, problems),
                                  .given = given_values(line, problems),
                                  .repeats = integer_option(line, "repeats", 1, 1, problems),
                                  .fresh = line.has("fresh"),
                                  .timeout_s = timeout_of(line, problems)};
  planned.idle = idle_rules_of(line, problems);
  planned.plan = campaign::make_plan(request, this_machine(*planned.trainer), problems);
  return planned;
}

int run(const Invocation& invocation, Console& console) {
  Diagnostics problems = invocation.problems;
  Planned planned = plan_of(invocation, problems);
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
    view.say((level == LogLevel::Warning ? "warning: " : "note: ") + printable(text));
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
  const std::vector<store::RunRecord> records = store->records_of(result.run);
  if (invocation.json()) {
    write_result(console, run_json(records, result));
  } else if (!records.empty()) {
    write_result(console, report::result_text(report::summarise(records)));
  }
  tell_the_end(result, command, view);
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
                   "--repeats 3"}};
  spec.options = {
      {.name = "repeats",
       .value_name = "N",
       .help = "valid measurements wanted per point, in rounds over all points; "
               "default 1"},
      {.name = "fresh", .takes_value = false, .help = "measure also what is known already"},
      {.name = "timeout",
       .value_name = "SECONDS",
       .help = "longest time of one measurement; default: at least 600, more for "
               "points with much arithmetic"},
      {.name = "wait_idle",
       .value_name = "SECONDS",
       .help = "before each measurement, how long to wait until nothing else uses its GPUs or, "
               "without GPUs, the CPU; default 0"},
      {.name = "if_busy",
       .value_name = "warn|refuse",
       .help = "what to do when it is still in use: measure and note it in the record (default), "
               "or skip the point"},
      {.name = "experiment",
       .value_name = "ID",
       .help = std::string("what is measured; default ") + kDefaultExperiment},
      {.name = "quiet",
       .aliases = {"-q"},
       .takes_value = false,
       .help = "no progress, only the result"},
      store_option(),
      json_option()};
  for (const experiment::Property& property : experiment::properties()) {
    spec.options.push_back(input_option(property));
  }
  return {std::move(spec), run};
}

}  // namespace tunebench::cli
