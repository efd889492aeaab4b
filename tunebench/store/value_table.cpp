#include "tunebench/store/internal/value_table.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::store {

// A record that is linked from some run in the trash and from none that is not.
const std::string_view kHiddenRecords =
    "SELECT hidden.record FROM run_record hidden JOIN run ON run.name = hidden.run "
    "WHERE run.trashed <> 0 AND NOT EXISTS (SELECT 1 FROM run_record shown "
    "JOIN run owner ON owner.name = shown.run "
    "WHERE shown.record = hidden.record AND owner.trashed = 0)";

namespace {

std::vector<ValueColumn> make_columns() {
  std::vector<ValueColumn> columns;
  const Json flat = record::flat(record::Record{});
  for (const auto& [name, unused] : flat.as_object()) {
    columns.push_back({.name = name,
                       .type = record::column_kind(name),
                       .of_record = name == "id" || name == "key" || name == "point_key"});
  }
  return columns;
}

std::string in_quotes(std::string_view name) {
  return fmt::format("\"{}\"", name);  // our names hold no quotes
}

std::string_view sql_type(const Dialect& dialect, record::ColumnKind type) {
  switch (type) {
    case record::ColumnKind::Integer:
    case record::ColumnKind::Boolean:
      return dialect.integer;
    case record::ColumnKind::Real:
      return dialect.real;
    case record::ColumnKind::Text:
    case record::ColumnKind::List:
      break;
  }
  return "TEXT";
}

std::string definition(const Dialect& dialect, const ValueColumn& column) {
  return fmt::format("{} {}", in_quotes(column.name), sql_type(dialect, column.type));
}

/// NULL in place of a value of another kind than the column's, as an import may bring one.
Value stored(record::ColumnKind type, const Json& value) {
  if (value.is_null()) {
    return {};
  }
  switch (type) {
    case record::ColumnKind::Integer:
      return value.is_int() ? Value(value.as_int()) : Value();
    case record::ColumnKind::Boolean:
      return value.is_bool() ? Value(std::int64_t{value.as_bool()}) : Value();
    case record::ColumnKind::Real:
      return value.is_number() ? Value(value.as_double()) : Value();
    case record::ColumnKind::Text:
      return storable_text(value.is_string() ? value.as_string() : value.dump());
    case record::ColumnKind::List:
      break;
  }
  return value.dump();
}

bool holds(const Rows& row, int column, const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return row.integer(column) == *number;
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return row.real(column) == *real;
  }
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr && row.text(column) == *text;
}

std::string insert_statement() {
  std::string names = "record";
  std::string places = "?";
  for (const ValueColumn& column : value_columns()) {
    if (!column.of_record) {
      names += ", " + in_quotes(column.name);
      places += ", ?";
    }
  }
  return fmt::format("INSERT INTO value ({}) VALUES ({})", names, places);
}

}  // namespace

std::set<std::string> value_columns_of(Connection& connection) {
  std::set<std::string> names;
  const std::unique_ptr<Rows> rows = connection.query(connection.dialect().columns, {"value"});
  while (rows->step()) {
    names.insert(rows->text(0));
  }
  return names;
}

Json value_in(record::ColumnKind type, const Rows& row, int column) {
  if (row.is_null(column)) {
    return {};
  }
  switch (type) {
    case record::ColumnKind::Integer:
      return row.integer(column);
    case record::ColumnKind::Boolean:
      return row.integer(column) != 0;
    case record::ColumnKind::Real:
      return row.real(column);
    case record::ColumnKind::List:
      return Json::parse(row.text(column), "value");
    case record::ColumnKind::Text:
      break;
  }
  return row.text(column);
}

const std::vector<ValueColumn>& value_columns() {
  static const std::vector<ValueColumn> kColumns = make_columns();
  return kColumns;
}

const ValueColumn* find_value_column(std::string_view name) {
  const auto found = std::ranges::find(value_columns(), name, &ValueColumn::name);
  return found == value_columns().end() ? nullptr : &*found;
}

std::vector<ValueColumn> missing_value_columns(Connection& connection) {
  const std::set<std::string> there = value_columns_of(connection);
  std::vector<ValueColumn> missing;
  std::ranges::copy_if(value_columns(), std::back_inserter(missing), [&](const ValueColumn& one) {
    return !one.of_record && !there.contains(one.name);
  });
  return missing;
}

void make_value_table(Connection& connection) {
  std::string columns = in_dialect(
      connection.dialect(), "record @integer NOT NULL PRIMARY KEY REFERENCES record (number)");
  for (const ValueColumn& column : value_columns()) {
    if (!column.of_record) {
      columns += ", " + definition(connection.dialect(), column);
    }
  }
  connection.script(fmt::format("CREATE TABLE value ({})", columns));
}

void add_value_columns(Connection& connection) {
  for (const ValueColumn& column : missing_value_columns(connection)) {
    connection.script(
        fmt::format("ALTER TABLE value ADD COLUMN {}", definition(connection.dialect(), column)));
  }
}

void insert_values(Connection& connection, std::int64_t record_number,
                   const record::Record& record) {
  static const std::string kInsert = insert_statement();
  const Json row = record::flat(record);
  Values values{record_number};
  for (std::size_t i = 0; i < value_columns().size(); ++i) {
    const ValueColumn& column = value_columns()[i];
    if (!column.of_record) {
      values.push_back(stored(column.type, row.as_object()[i].second));
    }
  }
  connection.execute(kInsert, values);
}

std::string problem_of_values(Connection& connection, std::int64_t record_number,
                              const record::Record& record) {
  const std::set<std::string> there = value_columns_of(connection);
  std::vector<std::string> terms{"record"};
  for (const ValueColumn& column : value_columns()) {
    const bool is_kept = !column.of_record && there.contains(column.name);
    terms.push_back(is_kept ? in_quotes(column.name) : "NULL");
  }
  const std::unique_ptr<Rows> row = connection.query(
      fmt::format("SELECT {} FROM value WHERE record = ?", join(terms, ", ")), {record_number});
  if (!row->step()) {
    return "its values are missing";
  }
  const Json flat = record::flat(record);
  for (std::size_t i = 0; i < value_columns().size(); ++i) {
    const ValueColumn& column = value_columns()[i];
    const bool is_kept = !column.of_record && there.contains(column.name);
    // A column that is younger than the record is empty.
    const Value wanted = stored(column.type, flat.as_object()[i].second);
    const int place = static_cast<int>(i) + 1;
    if (is_kept && !row->is_null(place) && !holds(*row, place, wanted)) {
      return fmt::format("its value of {} is not that of the record", column.name);
    }
  }
  return "";
}

const std::vector<std::string>& scan_columns() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const ValueColumn& column : value_columns()) {
      names.push_back(column.name);
    }
    return names;
  }();
  return kNames;
}

}  // namespace tunebench::store
