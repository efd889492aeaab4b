#include "tunebench/store/internal/import.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/store/internal/record_table.h"
#include "tunebench/store/internal/run_table.h"

namespace tunebench::store {
namespace {

/// "brisk-otter-2" of "brisk-otter": what an import is called when the name is another run's.
bool is_numbered(std::string_view name, std::string_view base) {
  if (!name.starts_with(base) || name.size() < base.size() + 2 || name[base.size()] != '-') {
    return false;
  }
  return std::ranges::all_of(name.substr(base.size() + 1),
                             [](char letter) { return letter >= '0' && letter <= '9'; });
}

/// The run that an earlier import, or this store itself, has of it: a host, a pid and a process may
/// change when it is resumed; its name, its begin and its command do not.
std::string name_here(Connection& connection, const Run& run) {
  const std::unique_ptr<Rows> rows =
      connection.query("SELECT name FROM run WHERE started_at = ? AND command = ? ORDER BY number",
                       {run.started_at, run.command});
  while (rows->step()) {
    const std::string name = rows->text(0);
    if (name == run.name || is_numbered(name, run.name)) {
      return name;
    }
  }
  return "";
}

std::string free_name(Connection& connection, const std::string& wanted) {
  const auto is_taken = [&](const std::string& name) {
    return connection.has("SELECT 1 FROM run WHERE name = ?", {name}) ||
           connection.has("SELECT 1 FROM tag WHERE tag = ?", {name});
  };
  std::string name = wanted;
  for (int number = 2; is_taken(name); ++number) {
    name = fmt::format("{}-{}", wanted, number);
  }
  return name;
}

void insert_import(Connection& connection, const Run& run, const std::string& name) {
  connection.execute(
      "INSERT INTO run (name, command, started_at, ended_at, status, planned, pid, host, "
      "process_start, plan, stop_reason, simulated) VALUES (?, ?, ?, ?, 'imported', ?, ?, ?, ?, ?, "
      "?, ?)",
      {name, run.command, run.started_at, run.ended_at, run.planned, run.pid, run.host,
       run.process_start, run.plan, run.stop_reason, std::int64_t{run.simulated}});
}

}  // namespace

void check_run_name(std::string_view name) {
  check_label("name of a run", name);
}

Run import_run(Connection& connection, const Run& run) {
  check_run_name(run.name);
  RunTable runs(connection);
  Run kept;
  connection.transaction([&] {
    std::string name = name_here(connection, run);
    if (name.empty()) {
      name = free_name(connection, run.name);
      insert_import(connection, run, name);
    }
    connection.execute(
        "UPDATE run SET valid = 0, failed = 0, reused = 0, purged = 0 WHERE name = ? AND purged <> "
        "0",
        {name});
    connection.execute("UPDATE run SET trashed = 0, trash_number = 0 WHERE name = ?", {name});
    kept = runs.get(name);
  });
  return kept;
}

std::int64_t import_records(Connection& connection, const std::string& run,
                            std::span<const RunRecord> records) {
  RecordTable table(connection);
  std::int64_t added = 0;
  connection.transaction([&] {
    added = 0;
    RunTable(connection).check(run);
    for (const RunRecord& one : records) {
      const bool is_new = !table.has(one.record.id);
      if (is_new) {
        table.insert(one.record);
        ++added;
      }
      if (!is_new || one.record.run != run) {
        table.link_reused(run, std::span(&one.record.id, 1));
      }
    }
  });
  return added;
}

bool shows_record(Connection& connection, const std::string& id) {
  return connection.has(
      "SELECT 1 FROM record JOIN run_record ON run_record.record = record.number "
      "JOIN run ON run.name = run_record.run WHERE record.id = ? AND run.trashed = 0",
      {id});
}

}  // namespace tunebench::store
