#include "tunebench/report/export.h"

#include <algorithm>
#include <cmath>

#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"
#include "tunebench/parquet/parquet.h"
#include "tunebench/report/ado_csv.h"
#include "tunebench/report/column_type.h"
#include "tunebench/report/sql.h"
#include "tunebench/report/text_table.h"

namespace tunebench::report {

namespace {

/// Text of one cell; null and numbers that are not finite are empty.
std::string cell_text(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::Null:
      return "";
    case Json::Kind::String:
      return value.as_string();
    case Json::Kind::Real:
      return std::isfinite(value.as_double()) ? shortest(value.as_double()) : "";
    default:
      return value.dump();
  }
}

bool is_default_input(const std::string& name, const Json& value) {
  const experiment::Property* property = experiment::find_property(name);
  return property != nullptr && !property->required && value == property->default_value;
}

std::string to_markdown(std::span<const Json> rows) {
  TextTable table;
  std::vector<std::string> names;
  if (!rows.empty()) {
    for (const auto& [name, unused] : rows.front().as_object()) {
      const bool shown = std::any_of(rows.begin(), rows.end(), [&](const Json& row) {
        const Json* value = row.find(name);
        return value != nullptr && !cell_text(*value).empty() && !is_default_input(name, *value);
      });
      if (shown) {
        const Json& first = *rows.front().find(name);
        table.add_column(name,
                         first.is_number() ? TextTable::Align::Right : TextTable::Align::Left);
        names.push_back(name);
      }
    }
  }
  for (const Json& row : rows) {
    std::vector<std::string> cells;
    for (const std::string& name : names) {
      const Json* value = row.find(name);
      cells.push_back(value == nullptr ? "" : cell_text(*value));
    }
    table.add_row(std::move(cells));
  }
  return names.empty() ? std::string("no measurements\n") : table.markdown();
}

parquet::ColumnType parquet_type(ColumnType type) {
  switch (type) {
    case ColumnType::Integer:
      return parquet::ColumnType::Integer;
    case ColumnType::Real:
      return parquet::ColumnType::Real;
    case ColumnType::Boolean:
      return parquet::ColumnType::Boolean;
    case ColumnType::Text:
      break;
  }
  return parquet::ColumnType::Text;
}

std::string to_parquet(std::span<const Json> rows, const Json& columns) {
  const bool aggregated = columns.find("id") == nullptr;
  std::vector<parquet::Column> table;
  const Json::Object& members = columns.as_object();
  for (std::size_t i = 0; i < members.size(); ++i) {
    parquet::Column column{.name = members[i].first,
                           .type = parquet_type(column_type(members[i].first, aggregated))};
    for (const Json& row : rows) {
      column.values.push_back(row.as_object()[i].second);
    }
    table.push_back(std::move(column));
  }
  return parquet::write_parquet(table);
}

std::vector<Json> rows_of(std::span<const record::Record> records) {
  std::vector<Json> rows;
  rows.reserve(records.size());
  for (const record::Record& record : records) {
    rows.push_back(record::flat(record));
  }
  return rows;
}

}  // namespace

const std::vector<std::string>& format_names() {
  static const std::vector<std::string> kNames{"csv", "json",    "jsonl",  "md",
                                               "sql", "parquet", "ado-csv"};
  return kNames;
}

std::optional<Format> find_format(std::string_view name) {
  const std::vector<std::string>& names = format_names();
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt
                              : std::optional(static_cast<Format>(found - names.begin()));
}

std::string to_csv(std::span<const Json> rows) {
  std::string text;
  const auto add_line = [&text](const Json::Object& members, auto&& cell) {
    for (std::size_t i = 0; i < members.size(); ++i) {
      text += (i == 0 ? "" : ",") + cell(members[i]);
    }
    text += "\r\n";
  };
  if (!rows.empty()) {
    add_line(rows.front().as_object(),
             [](const Json::Member& member) { return csv_cell(member.first); });
  }
  for (const Json& row : rows) {
    add_line(row.as_object(),
             [](const Json::Member& member) { return csv_cell(cell_text(member.second)); });
  }
  return text;
}

std::string export_rows(std::span<const Json> rows, const Json& columns, Format format) {
  switch (format) {
    case Format::Csv:
      // The header stands also when there is no row.
      if (rows.empty()) {
        const std::string text = to_csv(std::vector<Json>{columns});
        return text.substr(0, text.find("\r\n") + 2);
      }
      return to_csv(rows);
    case Format::Json:
      return Json::array(Json::Array(rows.begin(), rows.end())).dump(2) + "\n";
    case Format::Jsonl: {
      std::string text;
      for (const Json& row : rows) {
        text += row.dump() + "\n";
      }
      return text;
    }
    case Format::Markdown:
      return to_markdown(rows);
    case Format::Sql:
      return to_sql(rows, columns);
    case Format::Parquet:
      return to_parquet(rows, columns);
    case Format::AdoCsv:
      return to_ado_csv(rows);
  }
  return {};
}

std::string export_records(std::span<const record::Record> records, Format format) {
  return export_rows(rows_of(records), record::flat(record::Record{}), format);
}

}  // namespace tunebench::report
