#include "tunebench/report/sql.h"

#include <cmath>

#include "tunebench/base/text.h"
#include "tunebench/report/column_type.h"

namespace tunebench::report {
namespace {

std::string sql_name(const std::string& name) {
  std::string quoted = "\"";
  for (const char letter : name) {
    quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  }
  return quoted + "\"";
}

/// SQL ends a text at a zero byte, so it stands outside of one.
std::string sql_string(const std::string& text) {
  std::string quoted = "'";
  for (const char letter : text) {
    quoted += letter == '\''   ? std::string("''")
              : letter == '\0' ? std::string("' || char(0) || '")
                               : std::string(1, letter);
  }
  return quoted + "'";
}

std::string sql_value(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::Null:
      return "NULL";
    case Json::Kind::Boolean:
      return value.as_bool() ? "1" : "0";
    case Json::Kind::Integer:
      return value.dump();
    case Json::Kind::Real:
      return std::isfinite(value.as_double()) ? shortest(value.as_double()) : "NULL";
    case Json::Kind::String:
      return sql_string(value.as_string());
    default:
      return sql_string(value.dump());
  }
}

std::string_view sql_type(ColumnType type) {
  switch (type) {
    case ColumnType::Integer:
    case ColumnType::Boolean:
      return "INTEGER";
    case ColumnType::Real:
      return "REAL";
    case ColumnType::Text:
      break;
  }
  return "TEXT";
}

}  // namespace

std::string to_sql(std::span<const Json> rows, const Json& columns) {
  const bool has_id = columns.find("id") != nullptr;
  const std::string table = has_id ? "\"measurements\"" : "\"points\"";
  std::string text = "BEGIN;\nCREATE TABLE IF NOT EXISTS " + table + " (";
  std::string separator = "\n  ";
  for (const auto& [name, unused] : columns.as_object()) {
    text += separator + sql_name(name) + " " + std::string(sql_type(column_type(name, !has_id))) +
            (has_id && name == "id" ? " PRIMARY KEY" : "");
    separator = ",\n  ";
  }
  text += "\n);\n";
  for (const Json& row : rows) {
    text += (has_id ? "INSERT OR REPLACE INTO " : "INSERT INTO ") + table + " VALUES (";
    std::string comma;
    for (const auto& [name, value] : row.as_object()) {
      text += comma + sql_value(value);
      comma = ", ";
    }
    text += ");\n";
  }
  return text + "COMMIT;\n";
}

}  // namespace tunebench::report
