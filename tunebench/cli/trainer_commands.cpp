// What trains, and the environments of packages that outside trainers run in.
#include <algorithm>
#include <ostream>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/command.h"
#include "tunebench/experiment/property.h"
#include "tunebench/experiment/trainer_rules.h"
#include "tunebench/outside/environments.h"
#include "tunebench/outside/stack.h"
#include "tunebench/report/text_table.h"

namespace tunebench::cli {

namespace {

outside::Environments environments() {
  return outside::Environments(outside::default_environments_folder());
}

/// Errors: NotFound with the nearest name.
const outside::EnvironmentSpec& environment_named(const std::string& name) {
  const outside::EnvironmentSpec* spec = outside::find_environment_spec(name);
  if (spec == nullptr) {
    std::vector<std::string> names;
    for (const outside::EnvironmentSpec& one : outside::environment_specs()) {
      names.push_back(one.name());
      names.push_back(one.trainer);
    }
    const std::string hint = did_you_mean(name, names);
    throw Error(ErrorCode::NotFound,
                fmt::format("unknown environment '{}'{}", printable(name),
                            hint.empty() ? "; tunebench envs list shows all" : " - " + hint));
  }
  return *spec;
}

/// The first faults of many: a wrong environment has all of them.
std::string first_few(const std::vector<std::string>& faults) {
  constexpr std::size_t kShown = 5;
  const std::vector<std::string> shown(
      faults.begin(),
      faults.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, faults.size())));
  return join(shown, "; ") +
         (faults.size() > kShown ? fmt::format("; and {} more", faults.size() - kShown) : "");
}

std::string state_word(const outside::EnvironmentState& state) {
  return !state.ready && state.bytes > 0 ? "incomplete"
         : !state.ready                  ? "not made"
         : state.in_use                  ? "in use"
                                         : "ready";
}

int list_environments(const Invocation& invocation, Console& console) {
  const std::vector<outside::EnvironmentState> states = environments().list();
  if (invocation.json()) {
    Json rows = Json::array();
    for (const outside::EnvironmentState& state : states) {
      rows.push_back(Json::object({{"name", state.name},
                                   {"folder", display_path(state.folder)},
                                   {"known", state.known},
                                   {"ready", state.ready},
                                   {"in_use", state.in_use},
                                   {"bytes", state.bytes},
                                   {"made_at", state.made_at}}));
    }
    write_result(console, rows.dump(2) + "\n");
    return kOk;
  }
  report::TextTable table;
  for (const char* title : {"environment", "state", "size", "made", "packages", "folder"}) {
    table.add_column(title);
  }
  for (const outside::EnvironmentState& state : states) {
    const outside::EnvironmentSpec* spec =
        state.known ? outside::find_environment_spec(state.name) : nullptr;
    table.add_row(
        {state.name, state_word(state),
         state.bytes > 0   ? format_bytes(state.bytes)
         : spec != nullptr ? "about " + spec->size
                           : "",
         state.made_at,
         spec == nullptr ? "not of this version" : std::to_string(spec->packages().size()),
         display_path(state.folder)});
  }
  write_result(console, table.text());
  return kOk;
}

int make_environment(const Invocation& invocation, Console& console) {
  const outside::EnvironmentSpec& spec = environment_named(*invocation.line.argument(0));
  outside::Environments all = environments();
  static_cast<void>(all.use(spec, [&console](const std::string& text) {
    console.err << mask_secrets(text) << "\n";
    console.err.flush();
  }));
  const std::string folder = display_path(all.folder(spec));
  write_result(console, (invocation.json()
                             ? Json::object({{"name", spec.name()}, {"folder", folder}}).dump(2)
                             : folder) +
                            "\n");
  return kOk;
}

int check_environments(const Invocation& invocation, Console& console) {
  outside::Environments all = environments();
  std::vector<const outside::EnvironmentSpec*> wanted;
  if (const std::optional<std::string> name = invocation.line.argument(0)) {
    wanted.push_back(&environment_named(*name));
  } else {
    for (const outside::EnvironmentSpec& spec : outside::environment_specs()) {
      if (all.ready(spec)) {
        wanted.push_back(&spec);
      }
    }
  }
  std::string text;
  Json rows = Json::array();
  bool good = true;
  for (const outside::EnvironmentSpec* spec : wanted) {
    const std::vector<std::string> wrong = all.check(*spec);
    good = good && wrong.empty();
    Json faults = Json::array();
    for (const std::string& one : wrong) {
      faults.push_back(mask_secrets(one));
    }
    rows.push_back(Json::object({{"name", spec->name()}, {"faults", std::move(faults)}}));
    text += fmt::format("{}: {}\n", spec->name(),
                        wrong.empty() ? fmt::format("{} packages as locked, all modules import",
                                                    spec->packages().size())
                                      : mask_secrets(first_few(wrong)));
  }
  write_result(console, invocation.json() ? rows.dump(2) + "\n"
                        : text.empty()    ? "no environment is made\n"
                                          : text);
  return good ? kOk : kUsage;
}

int remove_environment(const Invocation& invocation, Console& console) {
  const std::string name = *invocation.line.argument(0);
  outside::Environments all = environments();
  const outside::EnvironmentSpec* spec = outside::find_environment_spec(name);
  const std::string folder = spec == nullptr ? name : all.folder(*spec).filename().string();
  all.remove(folder);
  write_result(console, invocation.json()
                            ? Json::object({{"removed", printable(folder)}}).dump(2) + "\n"
                            : fmt::format("removed {}\n", printable(folder)));
  return kOk;
}

std::string environment_text(const outside::Stack* stack) {
  if (stack == nullptr || stack->environment() == nullptr) {
    return "";
  }
  const bool ready = environments().ready(*stack->environment());
  return stack->environment()->name() + (ready ? "" : " (not made)");
}

int list_trainers(const Invocation& invocation, Console& console) {
  Json rows = Json::array();
  report::TextTable table;
  for (const char* title : {"trainer", "methods", "environment", "meaning"}) {
    table.add_column(title);
  }
  for (const experiment::TrainerRules& rules : experiment::trainer_rules()) {
    const outside::Stack* stack = outside::find_stack(rules.name);
    Json methods = Json::array();
    for (const std::string& method : rules.methods) {
      methods.push_back(method);
    }
    Json inputs = Json::array();
    for (const experiment::Property& property : experiment::properties()) {
      const bool read = rules.takes_all || (rules.name == "native" && property.native) ||
                        std::ranges::find(rules.honoured, property.name) != rules.honoured.end();
      if (read) {
        inputs.push_back(property.name);
      }
    }
    rows.push_back(Json::object({{"name", rules.name},
                                 {"help", rules.help},
                                 {"methods", std::move(methods)},
                                 {"inputs", std::move(inputs)},
                                 {"environment", stack == nullptr || stack->environment() == nullptr
                                                     ? Json()
                                                     : Json(stack->environment()->name())}}));
    table.add_row({rules.name, join(rules.methods, ", "), environment_text(stack), rules.help});
  }
  write_result(console, invocation.json() ? rows.dump(2) + "\n" : table.text());
  return kOk;
}

}  // namespace

Command trainers_command() {
  return {{.name = "trainers",
           .summary = "list what can train (--trainer), what each can do and where it runs",
           .options = {json_option()},
           .examples = {"tunebench trainers --json"}},
          list_trainers};
}

Command envs_command() {
  return {{.name = "envs",
           .summary = "list the environments of packages that outside trainers run in",
           .details = "They lie in $TUNEBENCH_ENVS, else below ~/.local/share/tunebench, and are "
                      "made by the first run that needs one.",
           .options = {json_option()},
           .examples = {"tunebench envs"}},
          list_environments};
}

Command envs_list_command() {
  Command command = envs_command();
  command.spec.name = "envs list";
  command.spec.hidden = true;
  return command;
}

Command envs_make_command() {
  return {{.name = "envs make",
           .summary = "make one now: exactly the packages of its lock file, hashes checked",
           .arguments = {{"NAME", "of `tunebench envs`, or of the trainer"}},
           .options = {json_option()},
           .examples = {"tunebench envs make hf"}},
          make_environment};
}

Command envs_check_command() {
  return {{.name = "envs check",
           .summary = "compare what is installed with the lock file and import every module",
           .arguments = {{"NAME", "default: all that are made", false}},
           .options = {json_option()},
           .examples = {"tunebench envs check"}},
          check_environments};
}

Command envs_rm_command() {
  return {{.name = "envs rm",
           .summary = "remove one that nobody uses",
           .arguments = {{"NAME", "of `tunebench envs`, of the trainer, or of the folder"}},
           .options = {json_option()},
           .examples = {"tunebench envs rm hf"}},
          remove_environment};
}

}  // namespace tunebench::cli
