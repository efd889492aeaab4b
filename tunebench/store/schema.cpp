#include "tunebench/store/internal/schema.h"

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/store/internal/value_table.h"

namespace tunebench::store {
namespace {

/// "tune": marks the file as ours in its header.
constexpr std::int64_t kApplication = 0x74756e65;

/// Runs and records are kept for ever; run_record says which run shows which record, since a
/// reused record belongs to the run that measured it. `number` gives the order of making.
/// valid, failed and reused of a run are what run_record says, kept so that lists read no records.
constexpr std::string_view kTables = R"(
CREATE TABLE run (
  number @number_key,
  name TEXT NOT NULL UNIQUE,
  command TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT NOT NULL,
  status TEXT NOT NULL,
  planned @integer NOT NULL,
  pid @integer NOT NULL,
  host TEXT NOT NULL,
  process_start TEXT NOT NULL,
  plan TEXT NOT NULL DEFAULT '',
  stop_reason TEXT NOT NULL DEFAULT '',
  heartbeat @integer NOT NULL DEFAULT 0,
  valid @integer NOT NULL DEFAULT 0,
  failed @integer NOT NULL DEFAULT 0,
  reused @integer NOT NULL DEFAULT 0,
  simulated @integer NOT NULL DEFAULT 0,
  stop_requested @integer NOT NULL DEFAULT 0,
  trashed @integer NOT NULL DEFAULT 0,
  trash_number @integer NOT NULL DEFAULT 0,
  purged @integer NOT NULL DEFAULT 0
);
CREATE TABLE environment (
  number @number_key,
  hash TEXT NOT NULL UNIQUE,
  content TEXT NOT NULL
);
CREATE TABLE record (
  number @number_key,
  id TEXT NOT NULL UNIQUE,
  run TEXT NOT NULL REFERENCES run (name),
  key TEXT NOT NULL,
  point_key TEXT NOT NULL,
  status TEXT NOT NULL,
  environment @integer NOT NULL REFERENCES environment (number),
  body TEXT NOT NULL
);
CREATE INDEX record_by_key ON record (key);
CREATE INDEX record_by_point ON record (point_key) WHERE point_key <> '';
CREATE INDEX record_by_run ON record (run);
CREATE INDEX record_by_environment ON record (environment);
CREATE TABLE run_record (
  number @number_key,
  run TEXT NOT NULL REFERENCES run (name),
  record @integer NOT NULL REFERENCES record (number),
  reused @integer NOT NULL,
  kept_at TEXT NOT NULL,
  UNIQUE (record, run)
);
CREATE INDEX run_record_by_run ON run_record (run);
CREATE TABLE claim (
  key TEXT NOT NULL PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run (name),
  until @integer NOT NULL
);
CREATE INDEX claim_by_run ON claim (run);
CREATE TABLE tag (
  tag TEXT NOT NULL PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run (name)
);
CREATE TABLE baseline (
  name TEXT NOT NULL PRIMARY KEY,
  run TEXT NOT NULL REFERENCES run (name),
  set_at TEXT NOT NULL
);
)";

void refuse_newer(Connection& connection, std::int64_t schema) {
  if (schema > kSchema) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} was written by a newer tunebench (schema {}, this program knows "
                            "{}); use that version, or another store with --store",
                            connection.location(), schema, kSchema));
  }
}

[[noreturn]] void throw_of_another_program(const Connection& connection) {
  throw Error(ErrorCode::Corrupt,
              fmt::format("{} is not a store of tunebench: it is a database of another program",
                          connection.location()));
}

/// In a server, a table says what SQLite's file header says. Writers lock it.
constexpr std::string_view kServerApplication = "tunebench";
constexpr std::string_view kServerTable =
    "CREATE TABLE store (application TEXT NOT NULL, schema @integer NOT NULL)";

}  // namespace

void make_tables(Connection& connection) {
  connection.script(in_dialect(connection.dialect(), kTables));
  make_value_table(connection);
}

FileKind identify(SqliteConnection& database) {
  const std::int64_t application = database.query_integer("PRAGMA application_id");
  const std::int64_t schema = database.query_integer("PRAGMA user_version");
  if (application == kApplication) {
    refuse_newer(database, schema);
    return schema == kSchema ? FileKind::Current : FileKind::Older;
  }
  const bool filled = application != 0 || schema != 0 ||
                      database.query_integer("SELECT count(*) FROM sqlite_master") != 0;
  if (filled && database.query_integer("PRAGMA application_id") == kApplication) {
    // Another process made the store between our questions.
    return identify(database);
  }
  if (filled) {
    throw_of_another_program(database);
  }
  return FileKind::Empty;
}

void bring_up_to_date(SqliteConnection& database) {
  if (identify(database) == FileKind::Current && missing_value_columns(database).empty()) {
    return;
  }
  database.transaction([&] {
    const FileKind kind = identify(database);
    if (kind == FileKind::Empty) {
      make_tables(database);
    } else if (kind == FileKind::Older) {
      migrate_from_schema_1(database);
    } else {
      add_value_columns(database);
    }
    database.script(
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kSchema));
  });
}

FileKind identify(PostgresConnection& server) {
  if (!server.has("SELECT 1 WHERE to_regclass('store') IS NOT NULL")) {
    return FileKind::Empty;
  }
  const std::int64_t columns = server.query_integer(
      "SELECT count(*) FROM information_schema.columns WHERE table_schema = current_schema() "
      "AND table_name = 'store' AND column_name IN ('application', 'schema')");
  if (columns != 2 || server.query_text("SELECT application FROM store") != kServerApplication) {
    throw_of_another_program(server);
  }
  refuse_newer(server, server.query_integer("SELECT schema FROM store"));
  return FileKind::Current;
}

void bring_up_to_date(PostgresConnection& server) {
  if (identify(server) == FileKind::Empty) {
    server.make([&] {
      if (identify(server) == FileKind::Current) {
        return;
      }
      make_tables(server);
      server.script(in_dialect(server.dialect(), kServerTable));
      server.execute("INSERT INTO store (application, schema) VALUES (?, ?)",
                     {std::string(kServerApplication), std::int64_t{kSchema}});
    });
  }
  if (!missing_value_columns(server).empty()) {
    server.transaction([&] { add_value_columns(server); });
  }
}

}  // namespace tunebench::store
