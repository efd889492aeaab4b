#include "tunebench/cli/run_options.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/campaign/staleness.h"
#include "tunebench/cli/search_options.h"
#include "tunebench/experiment/experiment.h"
#include "tunebench/outside/stack.h"
#include "tunebench/trainer/simulated_trainer.h"

namespace tunebench::cli {

namespace {

constexpr const char* kDefaultExperiment = "finetune_full_benchmark-v1.0.0";

const experiment::Experiment* experiment_of(const config::CommandLine& line,
                                            Diagnostics& problems) {
  const std::string id = line.value("experiment", kDefaultExperiment);
  const std::string where = line.has("experiment") ? line.find("experiment")->spelled : "";
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
    problems.push_back(
        {where, fmt::format("unknown experiment '{}'", printable(id)), did_you_mean(id, names)});
  } else if (!found->runnable) {
    problems.push_back({where, fmt::format("{} cannot be run by this version", found->id),
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
      given.push_back({property->name, std::move(values), option.spelled});
    }
  }
  return given;
}

/// A number above 0, and at most `most`.
std::optional<double> positive_option(const config::CommandLine& line, const char* name,
                                      const char* what, Diagnostics& problems) {
  const config::GivenOption* given = line.find(name);
  if (given == nullptr) {
    return std::nullopt;
  }
  const std::optional<double> number = parse_real(given->value);
  if (!number || *number <= 0) {
    problems.push_back(
        {given->spelled, fmt::format("'{}' is not {} above 0", printable(given->value), what), ""});
  }
  return number;
}

/// "1%", "1 %" or "1" to 0.01.
std::optional<double> until_of(const config::CommandLine& line, Diagnostics& problems) {
  const config::GivenOption* given = line.find("until");
  if (given == nullptr) {
    return std::nullopt;
  }
  std::string_view text = given->value;
  if (text.ends_with('%')) {
    text = trim(text.substr(0, text.size() - 1));
  }
  const std::optional<double> percent = parse_real(text);
  if (!percent || *percent <= 0 || *percent >= 100) {
    problems.push_back(
        {given->spelled,
         fmt::format("'{}' is not a percentage above 0 and below 100", printable(given->value)),
         "1%"});
    return 0.01;
  }
  return *percent / 100.0;
}

std::optional<std::uint64_t> order_seed_of(const config::CommandLine& line, Diagnostics& problems) {
  const std::string order = line.value("order", "grid");
  const std::int64_t seed = integer_option(line, "order_seed", 1, 0, problems);
  if (order != "grid" && order != "random") {
    problems.push_back({line.find("order")->spelled,
                        fmt::format("'{}' is none of grid, random", printable(order)), ""});
  }
  if (line.has("order_seed") && order != "random") {
    problems.push_back(
        {line.find("order_seed")->spelled, "only --order random draws from a seed", ""});
  }
  return order == "random" ? std::optional(static_cast<std::uint64_t>(seed)) : std::nullopt;
}

/// Names of the run's trainers, in the order given; false when `inputs` do not name any.
bool add_trainers(const std::vector<experiment::GivenValues>& inputs,
                  std::vector<std::string>& names) {
  bool named = false;
  for (const experiment::GivenValues& given : inputs) {
    for (const Json& value : given.values) {
      if (given.property == "trainer" && value.is_string()) {
        named = true;
        if (std::ranges::find(names, value.as_string()) == names.end()) {
          names.push_back(value.as_string());
        }
      }
    }
  }
  return named;
}

/// Those of all experiments: what one says of its own wins over what is said of all.
std::vector<std::string> trainer_names(const campaign::Request& request) {
  std::vector<std::string> names;
  bool all_say = !request.experiments.empty();
  for (const space::ExperimentChoice& choice : request.experiments) {
    all_say = add_trainers(choice.given, names) && all_say;
  }
  std::vector<std::string> of_all;
  if (!all_say && !add_trainers(request.given, of_all)) {
    of_all.emplace_back("native");
  }
  for (const std::string& name : names) {
    if (std::ranges::find(of_all, name) == of_all.end()) {
      of_all.push_back(name);
    }
  }
  return of_all;
}

/// Files as they were when the run was begun, and as they are read now.
struct FileTexts {
  const std::map<std::string, std::string>* stored = nullptr;
  std::map<std::string, std::string>& read;
};

std::unique_ptr<trainer::Trainer> simulated_trainer(const config::CommandLine& line,
                                                    const FileTexts& texts, Diagnostics& problems) {
  if (!line.has("simulation")) {
    problems.push_back(
        {"--simulation", "no file is given; trainer simulated plays the model of one", ""});
    return trainer::make_native_trainer();
  }
  const std::string file = line.value("simulation");
  trainer::Simulation simulation = texts.stored != nullptr && texts.stored->contains(file)
                                       ? trainer::parse_simulation(texts.stored->at(file), file)
                                       : trainer::read_simulation(file);
  texts.read[file] = simulation.text;
  return trainer::make_simulated_trainer(std::move(simulation));
}

/// Where a trainer cannot be made, the native one stands in for it.
std::unique_ptr<trainer::Trainer> make_trainer(const std::string& name,
                                               const config::CommandLine& line,
                                               const FileTexts& texts, Diagnostics& problems) {
  try {
    if (name == "simulated") {
      return simulated_trainer(line, texts, problems);
    }
    if (name == "command") {
      return outside::make_outside_trainer(outside::make_command_stack(line.words_after));
    }
    if (const outside::Stack* stack = outside::find_stack(name)) {
      return outside::make_outside_trainer(*stack);
    }
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) {
      throw;
    }
    problems.push_back({name == "command" ? "--" : "--simulation", error.message(), ""});
  }
  return trainer::make_native_trainer();
}

}  // namespace

std::vector<config::OptionSpec> run_options() {
  std::vector<config::OptionSpec> options{
      {.name = "repeats",
       .value_name = "N",
       .help = "valid measurements wanted per point, in rounds over all points; default 3, for a "
               "single point 1"},
      {.name = "until",
       .value_name = "PERCENT",
       .help = "repeat until half the 95 % interval is at most this share of the mean; 1%"},
      {.name = "max_repeats", .value_name = "N", .help = "bound of --until; default 10"},
      {.name = "order",
       .value_name = "grid|random",
       .help = "order of the points within a round; default grid: as given, last input fastest"},
      {.name = "order_seed", .value_name = "N", .help = "of --order random; default 1"},
      {.name = "fresh", .takes_value = false, .help = "measure also what is known already"},
      {.name = "accept_stale",
       .takes_value = false,
       .help =
           "reuse also results of another driver, device, trainer version or metric schema; the "
           "table says so"},
      {.name = "max_age",
       .value_name = "AGE",
       .help = "reuse no result that is older: 7d, 12h, 90min"},
      {.name = "force",
       .takes_value = false,
       .help = "start also points whose planned memory is more than there is"},
      {.name = "timeout",
       .value_name = "SECONDS",
       .help = "longest time of one measurement; default: at least 600, more for points with much "
               "arithmetic"},
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
      {.name = "simulation",
       .value_name = "FILE",
       .help = "model that --trainer simulated plays; docs/file-formats.md"},
      price_option(),
      {.name = "quiet",
       .aliases = {"-q"},
       .takes_value = false,
       .help = "no progress, only the result"},
      store_option(),
      json_option()};
  for (config::OptionSpec& option : search_options()) {
    options.push_back(std::move(option));
  }
  return options;
}

campaign::Request request_of(const config::CommandLine& line, Diagnostics& problems) {
  campaign::Request request{
      .experiment = experiment_of(line, problems),
      .given = given_values(line, problems),
      .until = until_of(line, problems),
      .most_repeats = integer_option(line, "max_repeats", 10, 2, problems),
      .order_seed = order_seed_of(line, problems),
      .fresh = line.has("fresh"),
      .force = line.has("force"),
      .accept_stale = line.has("accept_stale"),
      .timeout_s = positive_option(line, "timeout", "a number of seconds", problems)};
  if (line.has("repeats")) {
    request.repeats = integer_option(line, "repeats", 1, 1, problems);
  }
  if (const config::GivenOption* age = line.find("max_age")) {
    request.max_age_s = campaign::age_of(age->value);
    request.max_age_text = age->value;
    if (!request.max_age_s) {
      problems.push_back(
          {age->spelled, fmt::format("'{}' is not an age above 0", printable(age->value)), "7d"});
    }
  }
  if (request.fresh && (request.accept_stale || request.max_age_s)) {
    problems.push_back({"--fresh", "nothing is reused, whatever its age or conditions",
                        "leave out --accept-stale and --max-age"});
  }
  read_search_options(line, request, problems);
  if (line.has("max_repeats") && !request.until) {
    problems.push_back({"--max-repeats", "only --until goes beyond --repeats", ""});
  }
  return request;
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

std::unique_ptr<trainer::TrainerSet> trainers_of(const config::CommandLine& line,
                                                 const campaign::Request& request,
                                                 const std::map<std::string, std::string>* stored,
                                                 std::map<std::string, std::string>& texts,
                                                 Diagnostics& problems) {
  const std::vector<std::string> names = trainer_names(request);
  const auto named = [&names](const char* name) {
    return std::ranges::find(names, name) != names.end();
  };
  if (line.has("simulation") && !named("simulated")) {
    problems.push_back({"--simulation", "only --trainer simulated plays a model", ""});
  }
  if (!line.words_after.empty() && !named("command")) {
    problems.push_back({"--", "only --trainer command runs a program", ""});
  }
  std::vector<std::unique_ptr<trainer::Trainer>> trainers;
  for (const std::string& name : names) {
    trainers.push_back(make_trainer(name, line, {stored, texts}, problems));
  }
  return std::make_unique<trainer::TrainerSet>(std::move(trainers));
}

config::OptionSpec price_option() {
  return {.name = "price",
          .value_name = "P",
          .help = "of an hour of one GPU, on a CPU of an hour of the machine; adds cost_per_mtok"};
}

std::optional<double> price_of(const config::CommandLine& line, Diagnostics& problems) {
  return positive_option(line, "price", "a price", problems);
}

}  // namespace tunebench::cli
