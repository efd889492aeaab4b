#include "tunebench/cli/results.h"

#include <ostream>

#include <fmt/core.h>

#include "tunebench/base/error.h"
#include "tunebench/cli/measuring.h"
#include "tunebench/report/select.h"

namespace tunebench::cli {

std::unique_ptr<store::Store> open_for_reading(const config::CommandLine& line, Console& console) {
  const std::string location = store::default_store_location(line.value("store"));
  std::unique_ptr<store::Store> store = store::open_store(location, store::OpenMode::ReadOnly);
  try {
    const auto writable = store::open_store(location, store::OpenMode::Existing);
    for (const std::string& told : dead_run_lines(*writable)) {
      console.err << told << "\n";
    }
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Io) {
      throw;
    }
    // A store that may only be read is shown as it is.
  }
  return store;
}

config::OptionSpec simulated_option() {
  return {.name = "simulated",
          .takes_value = false,
          .help = "also what trainer simulated made; its numbers are those of a model"};
}

void keep_measured(std::vector<store::RunRecord>& records, const Invocation& invocation,
                   Console& console) {
  if (invocation.line.has("simulated")) {
    return;
  }
  const std::size_t count = report::remove_simulated(records);
  if (count > 0) {
    console.err << fmt::format("{} simulated measurements are left out; --simulated shows them\n",
                               count);
  }
}

void add_cost(std::vector<store::RunRecord>& records, std::optional<double> price) {
  if (price) {
    report::set_cost(records, *price);
  }
}

std::vector<config::OptionSpec> selection_options() {
  const std::string group = "which rows (docs/expressions.md)";
  return {{.name = "where",
           .value_name = "CONDITION",
           .help = "only rows for which it holds: 'model == \"tiny\" and tokens_per_s > 5000'",
           .group = group},
          {.name = "sort",
           .value_name = "[-]FIELD,...",
           .help = "order of the rows; - before one: largest first",
           .group = group},
          {.name = "group_by",
           .value_name = "FIELD,...",
           .help = "puts rows with equal values together; --top then counts within each group",
           .group = group},
          {.name = "top", .value_name = "N", .help = "at most so many rows", .group = group}};
}

bool has_selection(const config::CommandLine& line) {
  return line.has("where") || line.has("sort") || line.has("group_by") || line.has("top");
}

std::optional<analyze::Selection> selection_of(const config::CommandLine& line, const Json& columns,
                                               Diagnostics& problems) {
  const std::size_t before = problems.size();
  analyze::SelectionText text{
      .where = line.value("where"), .sort = line.value("sort"), .group_by = line.value("group_by")};
  for (const char* name : {"where", "sort", "group_by"}) {
    if (line.has(name) && line.value(name).empty()) {
      problems.push_back({line.find(name)->spelled, "is empty", ""});
    }
  }
  if (line.has("top")) {
    text.top = static_cast<std::size_t>(integer_option(line, "top", 1, 1, problems));
  }
  std::optional<analyze::Selection> selection =
      analyze::Selection::compile(text, analyze::Columns(columns), problems);
  return problems.size() == before ? std::move(selection) : std::nullopt;
}

bool tell_mistakes(const Diagnostics& problems, const Invocation& invocation, Console& console) {
  if (problems.empty()) {
    return false;
  }
  print_problems(console, problems);
  console.err << "see: tunebench " << invocation.words.front() << " --help\n";
  return true;
}

std::vector<store::RunRecord> records_named(const store::Store& store,
                                            const std::optional<std::string>& run) {
  if (run) {
    return store.records_of(store.find_run(*run).name);
  }
  std::vector<store::RunRecord> records;
  for (record::Record& record : store.all_records()) {
    records.push_back({.record = std::move(record)});
  }
  return records;
}

}  // namespace tunebench::cli
