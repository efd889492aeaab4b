#include <algorithm>
#include <array>
#include <filesystem>
#include <ostream>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/campaign/stored_plan.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/detach.h"
#include "tunebench/cli/measuring.h"
#include "tunebench/cli/run_options.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

namespace {

/// Options about one call, which the stored words do not decide.
constexpr std::array<std::string_view, 5> kOfThisCall{"detach", "quiet", "json", "price", "store"};

struct Earlier {
  store::Run run;
  campaign::StoredPlan plan;
  std::string location;
};

/// The run, its plan, and the folder that its words begin at, which becomes that of this process.
Earlier find_earlier(const config::CommandLine& line) {
  Earlier earlier;
  earlier.location = absolute_location(store::default_store_location(line.value("store")));
  const auto store = store::open_store(earlier.location, store::OpenMode::Existing);
  static_cast<void>(store->mark_dead_runs());
  earlier.run = store->find_run(line.argument(0).value_or("@last"));
  earlier.plan = campaign::stored_plan(earlier.run);
  if (earlier.plan.has_secrets) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("the command of {} held a secret, which is not stored; give the "
                            "command again",
                            earlier.run.name));
  }
  std::error_code failure;
  std::filesystem::current_path(earlier.plan.folder, failure);
  if (failure) {
    throw Error(ErrorCode::NotFound,
                fmt::format("{} was begun in {}, which is not here: {}", earlier.run.name,
                            printable(earlier.plan.folder), failure.message()));
  }
  return earlier;
}

/// "run", files and options, those of this call replaced by what it says.
std::vector<std::string> words_of(const config::CommandLine& line, const config::CommandLine& now) {
  std::vector<std::string> words{"run"};
  words.insert(words.end(), line.arguments.begin(), line.arguments.end());
  const auto add = [&words](const config::GivenOption& option) {
    words.push_back(option.spelled);
    if (!option.value.empty()) {
      words.push_back(option.value);
    }
  };
  for (const config::GivenOption& option : line.options) {
    if (std::ranges::find(kOfThisCall, option.name) == kOfThisCall.end()) {
      add(option);
    }
  }
  for (const config::GivenOption& option : now.options) {
    if (std::ranges::find(kOfThisCall, option.name) != kOfThisCall.end()) {
      add(option);
    }
  }
  return words;
}

/// The words with the program of --trainer command, which must come last.
std::vector<std::string> with_program(std::vector<std::string> words,
                                      const config::CommandLine& line) {
  if (!line.words_after.empty()) {
    words.emplace_back("--");
    words.insert(words.end(), line.words_after.begin(), line.words_after.end());
  }
  return words;
}

int start(Wanted wanted, const Earlier& earlier, const Invocation& invocation, Console& console) {
  wanted.location = earlier.location;
  const bool quiet = invocation.line.has("quiet");
  if (!invocation.line.has("detach")) {
    return measure(wanted, quiet, console);
  }
  return run_detached(
      store::folder_of_store(wanted.location) / "logs", console,
      [&](Console& log, const Started& started) { return measure(wanted, quiet, log, started); });
}

int resume(const Invocation& invocation, Console& console) {
  const Earlier earlier = find_earlier(invocation.line);
  if (earlier.run.status == "running") {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{} is running: process {} on {}; tunebench watch {} shows it",
                            earlier.run.name, earlier.run.pid, printable(earlier.run.host),
                            earlier.run.name));
  }
  const Invocation first = invocation_of(earlier.plan.words);
  std::optional<Wanted> wanted =
      prepare(invocation_of(with_program(words_of(first.line, invocation.line), first.line)),
              &earlier.plan, console);
  if (!wanted) {
    return kUsage;
  }
  wanted->resume = earlier.run.name;
  wanted->command = earlier.run.command;
  return start(std::move(*wanted), earlier, invocation, console);
}

/// Sets "batch=8" in the words of a run; false when it is of another form.
bool set_option(std::vector<std::string>& words, const std::string& setting,
                const config::CommandLine& line) {
  const std::size_t equals = setting.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return false;
  }
  Diagnostics unknown;
  const std::vector<std::string> asked{"--" + setting.substr(0, equals),
                                       setting.substr(equals + 1)};
  const config::CommandLine read = config::parse_command_line(run_command().spec, asked, unknown);
  for (const config::GivenOption& old : line.options) {
    if (read.options.empty() || old.name != read.options.front().name) {
      continue;
    }
    const auto place = std::ranges::find(words, old.spelled);
    if (place != words.end()) {
      words.erase(place, place + (old.value.empty() ? 1 : 2));
    }
  }
  words.insert(words.end(), asked.begin(), asked.end());
  return true;
}

int rerun(const Invocation& invocation, Console& console) {
  const Earlier earlier = find_earlier(invocation.line);
  const Invocation first = invocation_of(earlier.plan.words);
  std::vector<std::string> words = words_of(first.line, invocation.line);
  for (const config::GivenOption& option : invocation.line.options) {
    if (option.name == "set" && !set_option(words, option.value, first.line)) {
      print_problems(
          console,
          {{option.spelled, fmt::format("'{}' sets nothing", printable(option.value)), "batch=8"}});
      return kUsage;
    }
  }
  if (invocation.line.has("fresh") && !first.line.has("fresh")) {
    words.emplace_back("--fresh");
  }
  std::optional<Wanted> wanted =
      prepare(invocation_of(with_program(std::move(words), first.line)), &earlier.plan, console);
  if (!wanted) {
    return kUsage;
  }
  return start(std::move(*wanted), earlier, invocation, console);
}

std::vector<config::OptionSpec> call_options() {
  return {{.name = "detach",
           .takes_value = false,
           .help = "measure in the background, also after the terminal is closed"},
          {.name = "quiet",
           .aliases = {"-q"},
           .takes_value = false,
           .help = "no progress, only the result"},
          price_option(),
          store_option(),
          json_option()};
}

}  // namespace

Command resume_command() {
  return {
      {.name = "resume",
       .summary = "go on with a run that was interrupted: same points, order, seeds, search",
       .details = "The plan is that of the store, so that files may have changed or be gone. What "
                  "the run has measured stays; its name stays, too.",
       .arguments = {{"RUN", "name, the beginning of one, @last (default) or a tag", false}},
       .options = call_options(),
       .examples = {"tunebench resume", "tunebench resume brisk-otter --detach"}},
      resume};
}

Command rerun_command() {
  std::vector<config::OptionSpec> options = call_options();
  options.insert(options.begin(),
                 {{.name = "set",
                   .value_name = "NAME=VALUE",
                   .help = "an input or option of run in place of the run's own; several times",
                   .repeatable = true},
                  {.name = "fresh",
                   .takes_value = false,
                   .help = "measure again also what is known; without it, that is reused"}});
  return {{.name = "rerun",
           .summary = "a new run of the plan of an earlier one, all or in part as it was",
           .arguments = {{"RUN", "name, the beginning of one, @last (default) or a tag", false}},
           .options = std::move(options),
           .examples = {"tunebench rerun brisk-otter --fresh",
                        "tunebench rerun @last --set batch=8 --set repeats=5"}},
          rerun};
}

}  // namespace tunebench::cli
