#include "tunebench/store/internal/baseline_table.h"

#include <algorithm>

#include <fmt/format.h>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/store/internal/run_table.h"

namespace tunebench::store {

namespace {

[[noreturn]] void throw_no_baseline(Connection& connection, const std::string& name) {
  std::vector<std::string> names;
  for (const Baseline& known : list_baselines(connection)) {
    names.push_back(known.name);
  }
  const std::string hint = did_you_mean(name, names);
  throw Error(ErrorCode::NotFound, fmt::format("there is no baseline '{}'{}", printable(name),
                                               hint.empty() ? "" : " - " + hint));
}

}  // namespace

void set_baseline(Connection& connection, const std::string& name, const std::string& run) {
  check_label("baseline", name);
  connection.transaction([&] {
    RunTable(connection).check(run);
    connection.execute(
        "INSERT INTO baseline (name, run, set_at) VALUES (?, ?, ?) "
        "ON CONFLICT (name) DO UPDATE SET run = excluded.run, set_at = excluded.set_at",
        {name, run, now_text()});
  });
}

Run find_baseline(Connection& connection, const std::string& name) {
  const std::string run = connection.query_text("SELECT run FROM baseline WHERE name = ?", {name});
  if (run.empty()) {
    throw_no_baseline(connection, name);
  }
  if (connection.has("SELECT 1 FROM run WHERE name = ? AND trashed <> 0", {run})) {
    throw Error(ErrorCode::NotFound, fmt::format("baseline '{}' is {}, which is in the trash; undo "
                                                 "brings back what was put there last",
                                                 name, run));
  }
  return RunTable(connection).get(run);
}

void remove_baseline(Connection& connection, const std::string& name) {
  connection.transaction([&] {
    if (connection.execute("DELETE FROM baseline WHERE name = ?", {name}) == 0) {
      throw_no_baseline(connection, name);
    }
  });
}

std::vector<Baseline> list_baselines(Connection& connection) {
  const std::unique_ptr<Rows> rows = connection.query(
      "SELECT baseline.name, baseline.run, baseline.set_at FROM baseline "
      "JOIN run ON run.name = baseline.run WHERE run.trashed = 0");
  std::vector<Baseline> found;
  while (rows->step()) {
    found.push_back({.name = rows->text(0), .run = rows->text(1), .set_at = rows->text(2)});
  }
  std::ranges::sort(found, {}, &Baseline::name);
  return found;
}

}  // namespace tunebench::store
