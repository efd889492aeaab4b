#include "tunebench/cli/program.h"

#include <algorithm>
#include <ostream>
#include <span>

#include <fmt/core.h>

#include "tunebench/base/build_info.h"
#include "tunebench/base/error.h"
#include "tunebench/base/log.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/command.h"

namespace tunebench::cli {

namespace {

std::vector<config::CommandSpec> specs_of(const std::vector<Command>& commands) {
  std::vector<config::CommandSpec> specs;
  for (const Command& command : commands) {
    specs.push_back(command.spec);
  }
  return specs;
}

std::string version_text() {
  const BuildInfo& build = build_info();
  return fmt::format("tunebench {} ({}{}, {}, {}{}{})\n", build.version, build.commit,
                     build.dirty ? " with local changes" : "", build.compiler, build.build_type,
                     build.sanitizer.empty() ? "" : ", sanitizer ", build.sanitizer);
}

int run_command_words(const std::vector<std::string>& words, Console& console) {
  const std::vector<Command> commands = all_commands();
  const std::vector<config::CommandSpec> specs = specs_of(commands);
  const std::string first = words.empty() ? "--help" : words.front();
  const bool help_word = first == "help" && words.size() > 1;
  if (first == "--help" || first == "-h" || (first == "help" && !help_word)) {
    write_result(console, config::program_help(specs));
    return kOk;
  }
  const std::span<const std::string> rest = std::span(words).subspan(help_word ? 1 : 0);
  Diagnostics problems;
  const config::FoundCommand found = config::find_command(specs, rest, problems);
  if (found.command == nullptr) {
    print_problems(console, problems);
    console.err << "see: tunebench --help\n";
    return kUsage;
  }
  Invocation invocation{
      .line = config::parse_command_line(*found.command, rest.subspan(found.words), problems),
      .words = words};
  if (invocation.line.help || help_word) {
    write_result(console,
                 config::command_help(*found.command, std::min<std::size_t>(console.width, 100)));
    return kOk;
  }
  const auto command = static_cast<std::size_t>(found.command - specs.data());
  if (!problems.empty() && found.command->name != "run" && found.command->name != "plan") {
    print_problems(console, problems);
    console.err << "see: tunebench " << found.command->name << " --help\n";
    return kUsage;
  }
  invocation.problems = std::move(problems);
  return commands[command].handler(invocation, console);
}

}  // namespace

std::vector<Command> all_commands() {
  return {run_command(),
          plan_command(),
          resume_command(),
          rerun_command(),
          watch_command(),
          stop_command(),
          runs_command(),
          show_command(),
          export_command(),
          compare_command(),
          import_command(),
          tag_command(),
          untag_command(),
          rm_command(),
          undo_command(),
          gc_command(),
          check_command(),
          baseline_command(),
          baseline_list_command(),
          baseline_set_command(),
          baseline_rm_command(),
          pareto_command(),
          best_command(),
          logs_command(),
          stale_command(),
          env_command(),
          env_diff_command(),
          experiments_command(),
          inputs_command(),
          metrics_command(),
          models_command(),
          models_import_command(),
          datasets_command(),
          datasets_make_command(),
          datasets_count_command(),
          tokenize_command(),
          train_command(),
          simulate_command(),
          roof_command(),
          trainers_command(),
          envs_command(),
          envs_list_command(),
          envs_make_command(),
          envs_check_command(),
          envs_rm_command()};
}

config::OptionSpec json_option() {
  return {.name = "json", .takes_value = false, .help = "write the result as JSON"};
}

config::OptionSpec store_option() {
  return {.name = "store",
          .value_name = "FILE|URL",
          .help =
              "where results are kept: a file or postgresql://USER@HOST/NAME; default: "
              "$TUNEBENCH_STORE, else "
              "tunebench/store.db in $XDG_DATA_HOME or ~/.local/share"};
}

std::int64_t integer_option(const config::CommandLine& line, std::string_view name,
                            std::int64_t otherwise, std::int64_t lowest, Diagnostics& problems) {
  const config::GivenOption* given = line.find(name);
  if (given == nullptr) {
    return otherwise;
  }
  const std::optional<std::int64_t> value = parse_int(given->value);
  if (!value || *value < lowest) {
    problems.push_back(
        {given->spelled,
         fmt::format("'{}' is not a whole number of at least {}", printable(given->value), lowest),
         ""});
    return otherwise;
  }
  return *value;
}

namespace {

/// Warnings on standard error, unless a command takes them itself.
class WarningsToConsole {
 public:
  explicit WarningsToConsole(Console& console) {
    set_log_sink([&console](LogLevel level, const std::string& text) {
      if (level == LogLevel::Warning) {
        console.err << "tunebench: warning: " << mask_secrets(printable(text)) << "\n";
      }
    });
  }
  ~WarningsToConsole() { set_log_sink(nullptr); }
  WarningsToConsole(const WarningsToConsole&) = delete;
  WarningsToConsole& operator=(const WarningsToConsole&) = delete;
};

}  // namespace

int run_program(const std::vector<std::string>& words, Console& console) {
  const WarningsToConsole warnings(console);
  return guarded(console, [&] {
    if (!words.empty() && (words.front() == "--version" || words.front() == "-V")) {
      write_result(console, version_text());
      return static_cast<int>(kOk);
    }
    return run_command_words(words, console);
  });
}

}  // namespace tunebench::cli
