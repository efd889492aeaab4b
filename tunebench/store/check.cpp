#include "tunebench/store/internal/check.h"

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/store/internal/open.h"
#include "tunebench/store/internal/value_table.h"

namespace tunebench::store {
namespace {

using Problems = std::vector<std::string>;

/// What SQLite itself says of its file. PostgreSQL keeps its pages and references by itself.
void check_file(Connection& connection, Problems& problems) {
  if (connection.dialect().name != "sqlite") {
    return;
  }
  const std::unique_ptr<Rows> pages = connection.query("PRAGMA integrity_check");
  while (pages->step()) {
    if (pages->text(0) != "ok") {
      problems.push_back(pages->text(0));
    }
  }
  const std::unique_ptr<Rows> links = connection.query("PRAGMA foreign_key_check");
  while (links->step()) {
    problems.push_back(fmt::format("row {} of table {} refers to nothing in table {}",
                                   links->integer(1), links->text(0), links->text(2)));
  }
}

/// One problem for each row of a query: its text with the columns filled in.
template <typename Text>
void check_none(Connection& connection, std::string_view sql, Problems& problems, Text text) {
  const std::unique_ptr<Rows> rows = connection.query(sql);
  while (rows->step()) {
    problems.push_back(text(*rows));
  }
}

void check_runs(Connection& connection, Problems& problems) {
  check_none(
      connection,
      "SELECT name, valid, failed, reused, shown_valid, shown_failed, shown_reused FROM "
      "(SELECT run.name, run.number, run.valid, run.failed, run.reused, "
      "coalesce(sum(CASE WHEN record.status = 'ok' AND run_record.reused = 0 THEN 1 ELSE 0 END), 0)"
      " AS shown_valid, "
      "coalesce(sum(CASE WHEN record.status <> 'ok' THEN 1 ELSE 0 END), 0) AS shown_failed, "
      "coalesce(sum(CASE WHEN record.status = 'ok' AND run_record.reused = 1 THEN 1 ELSE 0 END), 0)"
      " AS shown_reused "
      "FROM run LEFT JOIN run_record ON run_record.run = run.name "
      "LEFT JOIN record ON record.number = run_record.record WHERE run.purged = 0 "
      "GROUP BY run.name, run.number, run.valid, run.failed, run.reused) counted "
      "WHERE valid <> shown_valid OR failed <> shown_failed OR reused <> shown_reused "
      "ORDER BY number",
      problems, [](const Rows& row) {
        return fmt::format(
            "run {} counts {} valid, {} failed, {} reused, but shows {}, {} and {} of these",
            row.text(0), row.integer(1), row.integer(2), row.integer(3), row.integer(4),
            row.integer(5), row.integer(6));
      });
  check_none(connection,
             "SELECT claim.key, run.name, run.status FROM claim JOIN run ON run.name = claim.run "
             "WHERE run.status <> 'running' ORDER BY claim.key",
             problems, [](const Rows& row) {
               return fmt::format("key {} is claimed by run {}, which is {}", row.text(0),
                                  row.text(1), row.text(2));
             });
}

void check_links(Connection& connection, Problems& problems) {
  check_none(connection,
             "SELECT id FROM record WHERE NOT EXISTS (SELECT 1 FROM run_record "
             "WHERE run_record.record = record.number) ORDER BY number",
             problems, [](const Rows& row) {
               return fmt::format("record {} is shown by no run", row.text(0));
             });
  check_none(connection,
             "SELECT record FROM value WHERE NOT EXISTS (SELECT 1 FROM record "
             "WHERE record.number = value.record) ORDER BY record",
             problems, [](const Rows& row) {
               return fmt::format("there are values of record number {}, which does not exist",
                                  row.integer(0));
             });
}

/// "" when all is well.
std::string problem_of_record(Connection& connection, const Rows& row) {
  try {
    record::Record record = record::from_text(row.text(5));
    if (record.id != row.text(1) || record.key != row.text(2) || record.run != row.text(3) ||
        record.point_key != row.text(6) || record::outcome_name(record.status) != row.text(4)) {
      return "its columns do not fit its text";
    }
    record.environment = record::environment_from_text(row.text(7));
    return problem_of_values(connection, row.integer(0), record);
  } catch (const Error& error) {
    return error.message();
  }
}

void check_records(Connection& connection, Problems& problems) {
  connection.for_each(
      "SELECT record.number, id, key, run, status, body, point_key, environment.content "
      "FROM record LEFT JOIN environment ON environment.number = record.environment "
      "ORDER BY record.number",
      {}, [&](const Rows& row) {
        const std::string problem = problem_of_record(connection, row);
        if (!problem.empty()) {
          problems.push_back(fmt::format("record {}: {}", row.text(1), problem));
        }
      });
}

}  // namespace

std::vector<std::string> check_connection(Connection& connection) {
  Problems problems;
  check_file(connection, problems);
  check_runs(connection, problems);
  check_links(connection, problems);
  check_records(connection, problems);
  return problems;
}

std::vector<std::string> check_store(const std::string& location) {
  return check_connection(*open_connection(location, OpenMode::ReadOnly, kWait));
}

}  // namespace tunebench::store
