#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/record/record.h"

namespace tunebench::report {

/// How records leave the program: one row per attempt, failed ones too.
enum class Format {
  Csv,       ///< RFC 4180, a header line, empty for what was not measured
  Json,      ///< an array of objects, null for what was not measured
  Jsonl,     ///< one object a line
  Markdown,  ///< a table for people: no empty columns, no inputs left at their default
  Sql,       ///< a table and its rows for SQLite (sql.h)
  Parquet,   ///< the same columns with their types; only with the optional component
  AdoCsv,    ///< the reference system's own columns (ado_csv.h), one row per point
};
std::optional<Format> find_format(std::string_view name);
const std::vector<std::string>& format_names();

/// The records in the order given. The columns of csv, json and jsonl are those of record::flat
/// whatever the records hold.
std::string export_records(std::span<const record::Record> records, Format format);

/// Flat rows with the same members. `columns` is a row of that kind: the header when there is none.
/// Errors of both: Unsupported for Parquet when this build has none.
std::string export_rows(std::span<const Json> rows, const Json& columns, Format format);

/// Rows of flat objects with the same members; nested values become JSON text in a cell.
std::string to_csv(std::span<const Json> rows);

}  // namespace tunebench::report
