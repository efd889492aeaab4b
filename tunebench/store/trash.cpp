#include "tunebench/store/internal/trash.h"

#include <vector>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/store/internal/owner.h"
#include "tunebench/store/internal/run_table.h"

namespace tunebench::store {
namespace {

/// The purged run's own links, and the records that no run shows any more.
std::int64_t remove_records_of(Connection& connection, const std::string& run) {
  std::vector<std::int64_t> shown;
  const std::unique_ptr<Rows> rows =
      connection.query("SELECT record FROM run_record WHERE run = ?", {run});
  while (rows->step()) {
    shown.push_back(rows->integer(0));
  }
  connection.execute("DELETE FROM run_record WHERE run = ?", {run});
  std::int64_t removed = 0;
  for (const std::int64_t record : shown) {
    if (connection.has("SELECT 1 FROM run_record WHERE record = ?", {record})) {
      continue;
    }
    const std::int64_t environment =
        connection.query_integer("SELECT environment FROM record WHERE number = ?", {record});
    connection.execute("DELETE FROM value WHERE record = ?", {record});
    removed += connection.execute("DELETE FROM record WHERE number = ?", {record});
    connection.execute(
        "DELETE FROM environment WHERE number = ? AND NOT EXISTS "
        "(SELECT 1 FROM record WHERE record.environment = environment.number)",
        {environment});
  }
  return removed;
}

}  // namespace

Run trash_run(Connection& connection, std::string_view reference) {
  RunTable runs(connection);
  Run run;
  connection.transaction([&] {
    // Where a connection was lost, the first time may have been kept after all.
    if (!run.name.empty() &&
        connection.has("SELECT 1 FROM run WHERE name = ? AND trashed <> 0", {run.name})) {
      return;
    }
    run = runs.find(reference);
    const std::int64_t now = connection.now();
    if (run.status == "running") {
      if (!is_dead(run, now)) {
        throw Error(ErrorCode::InvalidInput, fmt::format("{} is running ({} on {}); stop it first",
                                                         run.name, run.pid, run.host));
      }
      run = runs.mark(std::move(run));
    }
    connection.execute(
        "UPDATE run SET trashed = ?, trash_number = "
        "(SELECT coalesce(max(trash_number), 0) + 1 FROM run) WHERE name = ?",
        {now, run.name});
  });
  return run;
}

Run undo_trash(Connection& connection) {
  std::string name;
  Run run;
  connection.transaction([&] {
    if (name.empty() ||
        connection.has("SELECT 1 FROM run WHERE name = ? AND trashed <> 0", {name})) {
      name = connection.query_text(
          "SELECT name FROM run WHERE trashed <> 0 AND purged = 0 "
          "ORDER BY trash_number DESC LIMIT 1");
    }
    if (name.empty()) {
      throw Error(ErrorCode::NotFound, "the trash is empty");
    }
    connection.execute("UPDATE run SET trashed = 0, trash_number = 0 WHERE name = ?", {name});
    run = RunTable(connection).get(name);
  });
  return run;
}

Removed purge_trash(Connection& connection, std::int64_t older_than_seconds) {
  Removed removed;
  connection.transaction([&] {
    removed = {};
    std::vector<std::string> names;
    const std::unique_ptr<Rows> rows = connection.query(
        "SELECT name FROM run WHERE trashed <> 0 AND purged = 0 AND trashed <= ? ORDER BY number",
        {connection.now() - older_than_seconds});
    while (rows->step()) {
      names.push_back(rows->text(0));
    }
    for (const std::string& name : names) {
      removed.records += remove_records_of(connection, name);
      ++removed.runs;
      for (const char* table : {"tag", "baseline", "claim"}) {
        connection.execute(fmt::format("DELETE FROM {} WHERE run = ?", table), {name});
      }
      connection.execute("UPDATE run SET purged = 1 WHERE name = ?", {name});
    }
    // The name of a run whose records others show stays taken: those records bear it.
    connection.execute(
        "DELETE FROM run WHERE purged = 1 AND NOT EXISTS "
        "(SELECT 1 FROM record WHERE record.run = run.name)");
  });
  return removed;
}

Removed preview_purge(Connection& connection, std::int64_t older_than_seconds) {
  constexpr std::string_view kOld = "trashed <> 0 AND purged = 0 AND trashed <= ?";
  const std::int64_t before = connection.now() - older_than_seconds;
  return {.runs = connection.query_integer(fmt::format("SELECT count(*) FROM run WHERE {}", kOld),
                                           {before}),
          .records = connection.query_integer(
              fmt::format("SELECT count(DISTINCT record) FROM run_record "
                          "JOIN run ON run.name = run_record.run WHERE {} "
                          "AND NOT EXISTS (SELECT 1 FROM run_record kept JOIN run other "
                          "ON other.name = kept.run WHERE kept.record = run_record.record "
                          "AND (other.trashed = 0 OR other.trashed > ?))",
                          kOld),
              {before, before})};
}

}  // namespace tunebench::store
