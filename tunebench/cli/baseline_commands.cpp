#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/cli/results.h"
#include "tunebench/report/text_table.h"

namespace tunebench::cli {

namespace {

int set_the_baseline(const Invocation& invocation, Console& console) {
  const config::CommandLine& line = invocation.line;
  const std::unique_ptr<store::Store> store = store::open_store(
      store::default_store_location(line.value("store")), store::OpenMode::Existing);
  const std::string& name = line.arguments[0];
  const store::Run run = store->find_run(line.argument(1).value_or("@last"));
  store->set_baseline(name, run.name);
  write_result(
      console,
      invocation.json()
          ? Json::object({{"schema", "tunebench.baseline/1"}, {"name", name}, {"run", run.name}})
                    .dump(2) +
                "\n"
          : fmt::format("baseline {} is {}.   compare with it: tunebench compare --baseline {}\n",
                        printable(name), run.name, printable(name)));
  return kOk;
}

int list_baselines(const Invocation& invocation, Console& console) {
  const std::unique_ptr<store::Store> store = open_for_reading(invocation.line, console);
  report::TextTable table;
  Json rows = Json::array();
  for (const char* title : {"baseline", "run", "set"}) {
    table.add_column(title);
  }
  for (const store::Baseline& one : store->baselines()) {
    table.add_row({one.name, one.run, one.set_at});
    rows.push_back(Json::object({{"name", one.name}, {"run", one.run}, {"set_at", one.set_at}}));
  }
  if (invocation.json()) {
    write_result(console,
                 Json::object({{"schema", "tunebench.baselines/1"}, {"baselines", std::move(rows)}})
                         .dump(2) +
                     "\n");
  } else {
    write_result(console, table.rows() == 0
                              ? "no baselines; one is set by: tunebench baseline set NAME RUN\n"
                              : table.text());
  }
  return kOk;
}

int remove_the_baseline(const Invocation& invocation, Console& console) {
  const config::CommandLine& line = invocation.line;
  const std::string& name = line.arguments[0];
  store::open_store(store::default_store_location(line.value("store")), store::OpenMode::Existing)
      ->remove_baseline(name);
  write_result(
      console,
      invocation.json()
          ? Json::object({{"schema", "tunebench.baseline/1"}, {"removed", name}}).dump(2) + "\n"
          : fmt::format("{} is no baseline any more\n", printable(name)));
  return kOk;
}

}  // namespace

Command baseline_command() {
  return {{.name = "baseline",
           .summary = "list the baselines: runs to compare with, by names that stay",
           .options = {store_option(), json_option()},
           .examples = {"tunebench baseline"}},
          list_baselines};
}

Command baseline_list_command() {
  Command command = baseline_command();
  command.spec.name = "baseline list";
  command.spec.examples = {"tunebench baseline list"};
  return command;
}

Command baseline_rm_command() {
  return {{.name = "baseline rm",
           .summary = "forget a baseline; its run stays",
           .arguments = {{"NAME", "of the baseline"}},
           .options = {store_option(), json_option()},
           .examples = {"tunebench baseline rm main"}},
          remove_the_baseline};
}

Command baseline_set_command() {
  return {{.name = "baseline set",
           .summary = "name a run to compare later ones with; a name that is in use moves",
           .arguments = {{"NAME", "of the baseline: main, release-2", true},
                         {"RUN", "name, the beginning of one, @last (default) or @last~1", false}},
           .options = {store_option(), json_option()},
           .examples = {"tunebench baseline set main brisk-otter",
                        "tunebench compare --baseline main --fail-if 'tokens_per_s < -3%'"}},
          set_the_baseline};
}

}  // namespace tunebench::cli
