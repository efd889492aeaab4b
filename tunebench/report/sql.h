#pragma once

#include <span>
#include <string>

#include "tunebench/base/json.h"

namespace tunebench::report {

/// CREATE TABLE and INSERTs in one transaction, for `sqlite3 FILE <` or another database that takes
/// SQLite's types: "measurements" when the rows have ids (then the primary key; rows that are there
/// are replaced), else "points". Types are those of inputs and fields; booleans are 1 and 0, lists
/// JSON text, what was not measured NULL.
std::string to_sql(std::span<const Json> rows, const Json& columns);

}  // namespace tunebench::report
