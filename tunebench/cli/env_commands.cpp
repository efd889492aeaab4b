#include <filesystem>
#include <map>
#include <memory>
#include <ostream>

#include <fmt/core.h>

#include "tunebench/analyze/environment_difference.h"
#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/command.h"
#include "tunebench/cli/environment.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

namespace {

/// "name  value" lines; members of members are indented.
void append_lines(const Json& value, std::size_t indent, std::string& text) {
  for (const auto& [name, member] : value.as_object()) {
    const std::string begin = std::string(indent, ' ') + printable(name);
    if (member.is_object()) {
      text += begin + (member.as_object().empty() ? ": none\n" : ":\n");
      append_lines(member, indent + 2, text);
    } else if (member.is_array() && !member.as_array().empty() &&
               member.as_array().front().is_object()) {
      for (std::size_t i = 0; i < member.as_array().size(); ++i) {
        text += fmt::format("{}[{}]:\n", begin, i);
        append_lines(member.as_array()[i], indent + 2, text);
      }
    } else {
      text += fmt::format("{}: {}\n", begin,
                          member.is_string() ? printable(member.as_string())
                          : member.is_null() ? "-"
                                             : member.dump());
    }
  }
}

int show_environment(const Invocation& invocation, Console& console) {
  const Json now = environment_now(*trainer::make_native_trainer());
  std::string text;
  append_lines(now, 0, text);
  write_result(console, invocation.json() ? now.dump(2) + "\n" : text);
  return kOk;
}

/// Of the last measurement that the run made itself, else of the last that it has.
Json environment_of_run(const std::string& name, const config::CommandLine& line) {
  const std::string location = store::default_store_location(line.value("store"));
  const auto store = store::open_store(location, store::OpenMode::ReadOnly);
  const store::Run run = store->find_run(name);
  const store::RunRecord* best = nullptr;
  const std::vector<store::RunRecord> records = store->records_of(run.name);
  for (const store::RunRecord& one : records) {
    if (best == nullptr || best->reused || !one.reused) {
      best = &one;
    }
  }
  if (best == nullptr) {
    throw Error(ErrorCode::NotFound, run.name + " has no measurement, so no environment");
  }
  return best->record.environment;
}

Json environment_named(const std::string& name, const config::CommandLine& line) {
  if (name == "now") {
    return environment_now(*trainer::make_native_trainer());
  }
  std::error_code ignored;
  if (std::filesystem::is_regular_file(name, ignored)) {
    Json environment = Json::parse(read_file(name), printable(name));
    if (!environment.is_object()) {
      throw Error(ErrorCode::InvalidInput,
                  printable(name) + " is no object as `tunebench env --json` writes");
    }
    return environment;
  }
  return environment_of_run(name, line);
}

int compare_environments(const Invocation& invocation, Console& console) {
  const config::CommandLine& line = invocation.line;
  const std::vector<std::string> lines = analyze::environment_differences(
      environment_named(line.arguments[0], line), environment_named(line.arguments[1], line));
  if (invocation.json()) {
    Json::Array items(lines.begin(), lines.end());
    write_result(console, Json::array(std::move(items)).dump(2) + "\n");
  } else {
    write_result(console, lines.empty() ? "no difference\n" : join(lines, "\n") + "\n");
  }
  return lines.empty() ? kOk : kDifferent;
}

}  // namespace

Command env_command() {
  return {{.name = "env",
           .summary = "show what of this machine and program stands in every record",
           .options = {json_option()},
           .examples = {"tunebench env", "tunebench env --json"}},
          show_environment};
}

Command env_diff_command() {
  return {{.name = "env diff",
           .summary = "list what differs between two environments; exit code 2 when something does",
           .arguments = {{"A", "a run, \"now\", or a file that env --json wrote", true},
                         {"B", "the same", true}},
           .options = {store_option(), json_option()},
           .examples = {"tunebench env diff @last now", "tunebench env diff old.json now"}},
          compare_environments};
}

}  // namespace tunebench::cli
