// Schema 1 kept the environment in each record's body, linked records by id and had no values,
// counts, leases and claims.
#include <optional>

#include "tunebench/base/error.h"
#include "tunebench/store/internal/record_table.h"
#include "tunebench/store/internal/schema.h"
#include "tunebench/store/internal/value_table.h"

namespace tunebench::store {
namespace {

constexpr const char* kPutAside = R"(
DROP INDEX record_by_key;
ALTER TABLE run_record RENAME TO old_run_record;
ALTER TABLE record RENAME TO old_record;
ALTER TABLE run RENAME TO old_run;
)";

constexpr const char* kCopyRuns = R"(
INSERT INTO run (number, name, command, started_at, ended_at, status, planned, pid, host,
                 process_start)
SELECT number, name, command, started_at, ended_at, status, planned, pid, host, process_start
FROM old_run ORDER BY number;
)";

constexpr const char* kCopyLinks = R"(
INSERT INTO run_record (number, run, record, reused, kept_at)
SELECT old_run_record.number, old_run_record.run, record.number, reused, kept_at
FROM old_run_record JOIN record ON record.id = old_run_record.record_id
ORDER BY old_run_record.number;
UPDATE run SET
  valid = (SELECT count(*) FROM run_record JOIN record ON record.number = run_record.record
           WHERE run_record.run = run.name AND record.status = 'ok' AND reused = 0),
  failed = (SELECT count(*) FROM run_record JOIN record ON record.number = run_record.record
            WHERE run_record.run = run.name AND record.status <> 'ok'),
  reused = (SELECT count(*) FROM run_record JOIN record ON record.number = run_record.record
            WHERE run_record.run = run.name AND record.status = 'ok' AND run_record.reused = 1);
UPDATE run SET simulated = 1 WHERE name IN
  (SELECT run_record.run FROM run_record JOIN value ON value.record = run_record.record
   WHERE value.trainer = 'simulated');
DROP TABLE old_run_record;
DROP TABLE old_record;
DROP TABLE old_run;
)";

std::optional<record::Record> readable(const std::string& body) {
  try {
    return record::from_text(body);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void copy_records(Connection& connection) {
  RecordTable records(connection);
  const std::unique_ptr<Rows> rows =
      connection.query("SELECT number, id, run, key, status, body FROM old_record ORDER BY number");
  while (rows->step()) {
    const std::int64_t number = rows->integer(0);
    if (const std::optional<record::Record> record = readable(rows->text(5))) {
      records.insert_row(*record, number);
      insert_values(connection, number, *record);
      continue;
    }
    // A damaged record stays as it is, for `check` to name.
    connection.execute(
        "INSERT INTO environment (hash, content) VALUES ('', '{}') ON CONFLICT (hash) DO NOTHING");
    connection.execute(
        "INSERT INTO record (number, id, run, key, point_key, status, environment, body) "
        "SELECT ?, ?, ?, ?, '', ?, number, ? FROM environment WHERE hash = ''",
        {number, rows->text(1), rows->text(2), rows->text(3), rows->text(4), rows->text(5)});
  }
}

}  // namespace

void migrate_from_schema_1(Connection& connection) {
  connection.script(kPutAside);
  make_tables(connection);
  connection.script(kCopyRuns);
  copy_records(connection);
  connection.script(kCopyLinks);
}

}  // namespace tunebench::store
