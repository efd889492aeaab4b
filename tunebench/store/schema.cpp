#include "tunebench/store/internal/schema.h"

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench::store {
namespace {

/// "tune": marks the file as ours in its header.
constexpr std::int64_t kApplication = 0x74756e65;

/// Runs and records are kept for ever; run_record says which run shows which record, since a
/// reused record belongs to the run that measured it. `number` gives the order of making.
constexpr const char* kTables = R"(
CREATE TABLE run (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL UNIQUE,
  command TEXT NOT NULL,
  started_at TEXT NOT NULL,
  ended_at TEXT NOT NULL,
  status TEXT NOT NULL,
  planned INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  process_start TEXT NOT NULL
);
CREATE TABLE record (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  run TEXT NOT NULL REFERENCES run (name),
  key TEXT NOT NULL,
  status TEXT NOT NULL,
  body TEXT NOT NULL
);
CREATE INDEX record_by_key ON record (key);
CREATE TABLE run_record (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  run TEXT NOT NULL REFERENCES run (name),
  record_id TEXT NOT NULL REFERENCES record (id),
  reused INTEGER NOT NULL,
  kept_at TEXT NOT NULL,
  UNIQUE (run, record_id)
);
)";

}  // namespace

FileKind identify(const Database& database) {
  const std::int64_t application = database.query_integer("PRAGMA application_id");
  const std::int64_t schema = database.query_integer("PRAGMA user_version");
  const std::string name = display_path(database.file());
  if (application == kApplication) {
    if (schema > kSchema) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{} was written by a newer tunebench (schema {}, this program knows "
                              "{}); use that version, or another file with --store",
                              name, schema, kSchema));
    }
    return FileKind::Ours;
  }
  const bool filled = application != 0 || schema != 0 ||
                      database.query_integer("SELECT count(*) FROM sqlite_master") != 0;
  if (filled && database.query_integer("PRAGMA application_id") == kApplication) {
    // Another process made the store between our questions.
    return identify(database);
  }
  if (filled) {
    throw Error(
        ErrorCode::Corrupt,
        fmt::format("{} is not a store of tunebench: it is a database of another program", name));
  }
  return FileKind::Empty;
}

void create_schema(const Database& database) {
  database.transaction([&] {
    if (identify(database) == FileKind::Ours) {
      return;
    }
    database.execute(kTables);
    database.execute(fmt::format("PRAGMA application_id = {}", kApplication).c_str());
    database.execute(fmt::format("PRAGMA user_version = {}", kSchema).c_str());
  });
}

}  // namespace tunebench::store
