#include <ostream>

#include <fmt/core.h>

#include "tunebench/base/build_info.h"
#include "tunebench/base/text.h"
#include "tunebench/campaign/plan.h"
#include "tunebench/campaign/staleness.h"
#include "tunebench/cli/asked.h"
#include "tunebench/cli/command.h"
#include "tunebench/report/text_table.h"
#include "tunebench/store/store.h"

namespace tunebench::cli {

namespace {

/// What this machine and program would put into a key. Of a model that is played only the program
/// that plays it can be told.
campaign::ConditionsToday conditions_here() {
  const campaign::Machine native = this_machine(*trainer::make_native_trainer());
  return [native](const std::string& trainer, const std::string& version, std::int64_t gpus) {
    campaign::Machine machine = native;
    machine.trainer = trainer;
    if (trainer == "simulated") {
      const std::size_t model = version.find('+');
      machine.trainer_version =
          build_info().version + (model == std::string::npos ? "" : version.substr(model));
      machine.hardware_class = "simulated";
      machine.gpu_classes.clear();
    } else if (trainer != native.trainer) {
      return Json();
    }
    experiment::Point point;
    point.inputs["number_gpus"] = gpus;
    return campaign::conditions_of(machine, point);
  };
}

int list_stale(const Invocation& invocation, Console& console) {
  const auto store = store::open_store(
      store::default_store_location(invocation.line.value("store")), store::OpenMode::ReadOnly);
  const std::vector<campaign::StaleGroup> groups = campaign::find_stale(*store, conditions_here());
  Json rows = Json::array();
  report::TextTable table;
  for (const char* title : {"points", "measurements"}) {
    table.add_column(title, report::TextTable::Align::Right);
  }
  for (const char* title : {"newest", "runs", "differs in"}) {
    table.add_column(title);
  }
  for (const campaign::StaleGroup& group : groups) {
    Json runs = Json::array();
    for (const std::string& run : group.runs) {
      runs.push_back(run);
    }
    const std::string shown = group.runs.size() <= 3
                                  ? join({group.runs.begin(), group.runs.end()}, ", ")
                                  : fmt::format("{} runs", group.runs.size());
    table.add_row({std::to_string(group.points.size()), std::to_string(group.measurements),
                   group.newest, shown, group.difference});
    rows.push_back(Json::object({{"points", std::ssize(group.points)},
                                 {"measurements", group.measurements},
                                 {"newest", group.newest},
                                 {"runs", std::move(runs)},
                                 {"difference", group.difference}}));
  }
  if (invocation.json()) {
    write_result(console, rows.dump(2) + "\n");
  } else {
    write_result(console, groups.empty() ? "nothing is stale: this machine would reuse every "
                                           "result that it can compare with its own\n"
                                         : table.text());
  }
  return kOk;
}

}  // namespace

Command stale_command() {
  return {
      {.name = "stale",
       .summary = "list results that a run on this machine would not reuse, and why",
       .details = "A run measures such points again; --accept-stale reuses them. Points that have "
                  "a result of today's conditions are left out.",
       .options = {store_option(), json_option()},
       .examples = {"tunebench stale"}},
      list_stale};
}

}  // namespace tunebench::cli
