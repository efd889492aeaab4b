#include "tunebench/cli/asked.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/environment.h"
#include "tunebench/cli/run_options.h"
#include "tunebench/config/yaml.h"
#include "tunebench/experiment/experiment.h"
#include "tunebench/hardware/gpu_class.h"
#include "tunebench/hardware/host.h"
#include "tunebench/plans/plan_document.h"
#include "tunebench/report/summary.h"

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

/// The documents of all files that the command line names.
plans::PlanDocument read_files(const config::CommandLine& line, const campaign::StoredPlan* stored,
                               std::map<std::string, std::string>& texts, Diagnostics& problems) {
  std::vector<config::YamlDocument> documents;
  const std::size_t before = problems.size();
  for (const std::string& file : line.arguments) {
    const std::size_t mistakes = problems.size();
    const auto kept = stored == nullptr ? texts.end() : stored->files.find(file);
    std::vector<config::YamlDocument> found = stored != nullptr && kept != stored->files.end()
                                                  ? config::parse_yaml(kept->second, file, problems)
                                                  : config::read_yaml(file, problems);
    if (found.empty() && problems.size() == mistakes) {
      problems.push_back({file, "holds no plan", ""});
    }
    if (!found.empty()) {
      texts[file] = found.front().source->text();
    }
    std::ranges::move(found, std::back_inserter(documents));
  }
  return problems.size() > before ? plans::PlanDocument{}
                                  : plans::read_documents(documents, run_options(), problems);
}

}  // namespace

campaign::Machine this_machine(const trainer::Trainer& trainer) {
  const hardware::HostInfo host = hardware::read_host();
  return {.trainer = trainer.name(),
          .trainer_version = trainer.version(),
          // What a model says does not depend on the machine that plays it.
          .hardware_class =
              trainer.name() == "simulated" ? "simulated" : hardware::hardware_class(host),
          .memory_bytes = host.memory_usable_bytes,
          .cores = host.cores_usable,
          .gpu_classes = trainer.name() == "simulated" ? std::vector<hardware::GpuClass>{}
                                                       : hardware::gpu_classes(),
          .environment = environment_now(trainer)};
}

std::vector<config::OptionSpec> asking_options() {
  std::vector<config::OptionSpec> options = run_options();
  options.push_back({.name = "where",
                     .value_name = "EXPRESSION",
                     .help =
                         "measure only points for which it holds (docs/expressions.md); several "
                         "all hold",
                     .repeatable = true});
  options.push_back({.name = "save_plan",
                     .value_name = "FILE",
                     .help = "write the plan file that means the same, - for standard output, and "
                             "measure nothing"});
  for (const experiment::Property& property : experiment::properties()) {
    options.push_back(input_option(property));
  }
  return options;
}

Asked ask(const Invocation& invocation, Diagnostics& problems, const campaign::StoredPlan* stored) {
  Asked asked;
  const std::size_t before = problems.size();
  plans::PlanDocument document = read_files(invocation.line, stored, asked.files, problems);
  asked.files_are_wrong = problems.size() > before;
  asked.line = plans::with_options(invocation.line, document);
  if (invocation.line.has("experiment")) {
    document.experiments.clear();
  }
  asked.request = request_of(asked.line, problems);
  for (const config::GivenOption& option : invocation.line.options) {
    if (option.name == "where") {
      asked.request.rules.push_back({option.value, option.spelled});
    }
  }
  plans::apply(document, asked.request);
  asked.files_are_wrong = asked.files_are_wrong || !document.imports.empty();
  for (const plans::StoreImport& one : document.imports) {
    problems.push_back({one.where,
                        fmt::format("importing '{}' is not done by run", printable(one.path)),
                        "tunebench import does it; leave the file out here"});
  }
  asked.notes = std::move(document.notes);
  asked.trainer = trainers_of(asked.line, asked.request,
                              stored == nullptr ? nullptr : &stored->files, asked.files, problems);
  const measure::IdleRules rules = idle_rules_of(asked.line, problems);
  // A model that is played takes no notice of the machine.
  if (asked.trainer->name() != "simulated" || asked.line.has("wait_idle") ||
      asked.line.has("if_busy")) {
    asked.idle = rules;
  }
  const std::vector<std::unique_ptr<trainer::Trainer>>& trainers = asked.trainer->all();
  asked.machine = this_machine(*trainers.front());
  if (!asked.line.words_after.empty()) {
    asked.machine.environment.set("command",
                                  config::shell_line(mask_secrets(asked.line.words_after)));
  }
  for (std::size_t other = 1; other < trainers.size(); ++other) {
    asked.machine.others.push_back(this_machine(*trainers[other]));
  }
  if (asked.request.order_seed) {
    asked.machine.environment.set("order_seed",
                                  static_cast<std::int64_t>(*asked.request.order_seed));
  }
  return asked;
}

void print_plan_problems(Console& console, const Invocation& invocation,
                         const Diagnostics& problems) {
  if (invocation.line.arguments.empty()) {
    print_problems(console, problems);
    console.err << fmt::format("see: tunebench {} --help, tunebench inputs\n",
                               invocation.words.empty() ? "run" : invocation.words.front());
    return;
  }
  for (const Diagnostic& problem : problems) {
    console.err << (is_place(problem.where) ? "" : "tunebench: ")
                << mask_secrets(problem.text_block()) << "\n";
  }
  console.err << fmt::format(
      "{} error{}. Nothing was run. See: tunebench inputs, tunebench metrics\n", problems.size(),
      problems.size() == 1 ? "" : "s");
}

int save_plan(const Asked& asked, const std::string& file, Console& console) {
  write_result(console,
               plans::plan_text(plans::document_of(asked.request, asked.line, run_options())),
               file);
  return kOk;
}

}  // namespace tunebench::cli
