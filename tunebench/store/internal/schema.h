#pragma once

#include "tunebench/store/internal/postgres_connection.h"
#include "tunebench/store/internal/sqlite_connection.h"

namespace tunebench::store {

/// What this program writes: PRAGMA user_version of a file, the table `store` of a server. An older
/// one is brought up to it when opened for writing.
inline constexpr int kSchema = 2;

/// The tables of kSchema, without the columns of `value`.
void make_tables(Connection& connection);

enum class FileKind {
  Empty,
  Older,    ///< of an earlier schema
  Current,  ///< of kSchema
};

/// What a file says of itself, before anything is written to it. Errors: Unsupported for a newer
/// schema; Corrupt for a database of another program.
FileKind identify(SqliteConnection& database);
/// The same of the tables that the connection's search path leads to.
FileKind identify(PostgresConnection& server);

/// Makes the tables, or brings older ones up to date, unless another process has done so meanwhile;
/// adds the columns of `value` that this program knows and the store does not.
void bring_up_to_date(SqliteConnection& database);
void bring_up_to_date(PostgresConnection& server);

/// Part of bring_up_to_date, within its transaction.
void migrate_from_schema_1(Connection& connection);

}  // namespace tunebench::store
