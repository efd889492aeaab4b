#include <algorithm>
#include <array>
#include <optional>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/command.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {
namespace {

constexpr const char* kRunHelp = "name or tag, the beginning of a name, @last or @last~1";

/// For writing, with the runs that died marked, so that a dead one is not taken for a running one.
std::unique_ptr<store::Store> open_for_keeping(const Invocation& invocation) {
  std::unique_ptr<store::Store> store = store::open_store(
      store::default_store_location(invocation.line.value("store")), store::OpenMode::Existing);
  store->mark_dead_runs();
  return store;
}

/// The result of a command that changes the store: a sentence, or with --json what it says.
int answer(const Invocation& invocation, Console& console, const std::string& text,
           const Json& json) {
  Json::Object members{{"schema", fmt::format("tunebench.{}/1", invocation.words.front())}};
  members.insert(members.end(), json.as_object().begin(), json.as_object().end());
  write_result(console,
               (invocation.json() ? Json::object(std::move(members)).dump(2) : text) + "\n");
  return kOk;
}

int tag_run(const Invocation& invocation, Console& console) {
  const std::unique_ptr<store::Store> store = open_for_keeping(invocation);
  const std::string run = store->find_run(invocation.line.arguments[0]).name;
  const std::string& tag = invocation.line.arguments[1];
  store->tag(run, tag);
  return answer(invocation, console, fmt::format("{} is tagged {}", run, tag),
                Json::object({{"run", run}, {"tag", tag}}));
}

int untag_run(const Invocation& invocation, Console& console) {
  const std::unique_ptr<store::Store> store = open_for_keeping(invocation);
  const store::Run run = store->find_run(invocation.line.arguments[0]);
  const std::string& tag = invocation.line.arguments[1];
  if (std::find(run.tags.begin(), run.tags.end(), tag) == run.tags.end()) {
    const std::string hint = did_you_mean(tag, run.tags);
    throw Error(ErrorCode::NotFound, fmt::format("{} has no tag '{}'{}", run.name, printable(tag),
                                                 hint.empty() ? "" : " - " + hint));
  }
  store->untag(tag);
  return answer(invocation, console, fmt::format("{} is no longer tagged {}", run.name, tag),
                Json::object({{"run", run.name}, {"tag", tag}}));
}

int remove_runs(const Invocation& invocation, Console& console) {
  const std::unique_ptr<store::Store> store = open_for_keeping(invocation);
  std::vector<std::string> names;
  // All names are looked up first: a typo in the second must not leave the first in the trash, and
  // @last means the same run for each.
  for (const std::string& word : invocation.line.arguments) {
    names.push_back(store->find_run(word).name);
  }
  std::string text;
  Json rows = Json::array();
  for (const std::string& name : names) {
    const bool twice = std::any_of(rows.as_array().begin(), rows.as_array().end(),
                                   [&](const Json& row) { return row == Json(name); });
    if (!twice) {
      store->trash_run(name);
      text += name + " is in the trash\n";
      rows.push_back(name);
    }
  }
  text += "tunebench undo brings it back, tunebench gc removes it for good";
  return answer(invocation, console, text, Json::object({{"trashed", std::move(rows)}}));
}

int undo_removal(const Invocation& invocation, Console& console) {
  const std::string run = open_for_keeping(invocation)->undo().name;
  return answer(invocation, console, run + " is back", Json::object({{"run", run}}));
}

/// Seconds of "30d", "12h", "45min", "10s" or "0".
std::int64_t age_option(const std::string& text) {
  struct Unit {
    std::string_view name;
    double seconds;
  };
  static constexpr std::array kUnits{Unit{"w", 604800}, Unit{"d", 86400}, Unit{"h", 3600},
                                     Unit{"min", 60},   Unit{"m", 60},    Unit{"s", 1}};
  const std::string_view whole = trim(text);
  std::optional<double> seconds = whole == "0" ? std::optional(0.0) : std::nullopt;
  for (const Unit& unit : kUnits) {
    if (!seconds && whole.ends_with(unit.name)) {
      const std::optional<double> count =
          parse_real(trim(whole.substr(0, whole.size() - unit.name.size())));
      seconds = count ? std::optional(*count * unit.seconds) : std::nullopt;
    }
  }
  constexpr double kLongest = 1e11;
  if (!seconds || !(*seconds >= 0) || *seconds > kLongest) {
    throw Error(
        ErrorCode::InvalidInput,
        fmt::format("--older: '{}' is no time; write 30d, 12h, 45min, 10s or 0", printable(text)));
  }
  return static_cast<std::int64_t>(*seconds);
}

int collect(const Invocation& invocation, Console& console) {
  const std::int64_t older = age_option(invocation.line.value("older", "30d"));
  const bool dry = invocation.line.has("dry_run");
  const std::unique_ptr<store::Store> store = open_for_keeping(invocation);
  const store::Removed removed = dry ? store->gc_preview(older) : store->gc(older);
  const std::string what =
      fmt::format("{} runs and {} measurements", removed.runs, removed.records);
  return answer(
      invocation, console,
      dry ? "would remove " + what + " for good" : "removed " + what + " for good",
      Json::object({{"dry_run", dry}, {"runs", removed.runs}, {"measurements", removed.records}}));
}

int check(const Invocation& invocation, Console& console) {
  const std::string location = store::default_store_location(invocation.line.value("store"));
  const std::vector<std::string> problems = store::check_store(location);
  Json rows = Json::array();
  std::string text;
  for (const std::string& problem : problems) {
    rows.push_back(problem);
    text += printable(problem) + "\n";
  }
  if (invocation.json()) {
    text = Json::object({{"schema", "tunebench.check/1"},
                         {"ok", problems.empty()},
                         {"problems", std::move(rows)}})
               .dump(2) +
           "\n";
  } else if (problems.empty()) {
    text = "all is well\n";
  }
  write_result(console, text);
  return problems.empty() ? kOk : kUsage;
}

}  // namespace

Command tag_command() {
  return {{.name = "tag",
           .summary = "give a run a second name",
           .arguments = {{"RUN", kRunHelp}, {"TAG", "without spaces and slashes"}},
           .options = {store_option(), json_option()},
           .examples = {"tunebench tag @last before-update"}},
          tag_run};
}

Command untag_command() {
  return {{.name = "untag",
           .summary = "take a tag from a run",
           .arguments = {{"RUN", kRunHelp}, {"TAG", "one that it has"}},
           .options = {store_option(), json_option()},
           .examples = {"tunebench untag @last before-update"}},
          untag_run};
}

Command rm_command() {
  return {{.name = "rm",
           .summary = "put runs into the trash, with the measurements that no other run shows",
           .arguments = {{"RUN", kRunHelp, true, true}},
           .options = {store_option(), json_option()},
           .examples = {"tunebench rm @last"}},
          remove_runs};
}

Command undo_command() {
  return {{.name = "undo",
           .summary = "bring back the run that was put into the trash last",
           .options = {store_option(), json_option()},
           .examples = {"tunebench undo"}},
          undo_removal};
}

Command gc_command() {
  return {{.name = "gc",
           .summary = "remove for good what has been in the trash for long",
           .options = {{.name = "older",
                        .value_name = "TIME",
                        .help = "in the trash for at least this long: 30d (default), 12h, 0"},
                       {.name = "dry_run",
                        .takes_value = false,
                        .help = "only say what would be removed"},
                       store_option(),
                       json_option()},
           .examples = {"tunebench gc --older 7d --dry-run"}},
          collect};
}

Command check_command() {
  return {{.name = "check",
           .summary = "verify a store: a line for each problem, exit code 1 when there is one",
           .options = {store_option(), json_option()},
           .examples = {"tunebench check"}},
          check};
}

}  // namespace tunebench::cli
