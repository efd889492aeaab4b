#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "tunebench/record/column.h"
#include "tunebench/store/internal/connection.h"
#include "tunebench/store/store.h"

namespace tunebench::store {

/// The table `value` has one row a record and one column for each member of record::flat that is
/// not a column of `record` already. It is made from the records and holds nothing of its own: it
/// is what conditions and sums are computed from, without reading records.
struct ValueColumn {
  std::string name;
  record::ColumnKind type = record::ColumnKind::Text;
  bool of_record = false;  ///< kept in table `record` instead
};
/// In the order of record::flat.
const std::vector<ValueColumn>& value_columns();
/// nullptr when there is none.
const ValueColumn* find_value_column(std::string_view name);

/// Makes the table with all columns that this program knows. Within a transaction.
void make_value_table(Connection& connection);
/// Columns that this program knows and the store does not have yet.
std::vector<ValueColumn> missing_value_columns(Connection& connection);
/// Adds them. Within a transaction.
void add_value_columns(Connection& connection);

/// Names of the columns that the store has.
std::set<std::string> value_columns_of(Connection& connection);
/// What a column of that type holds in a row; null for NULL.
Json value_in(record::ColumnKind type, const Rows& row, int column);

/// Adds the row of a record. Within a transaction.
void insert_values(Connection& connection, std::int64_t record_number,
                   const record::Record& record);

/// What is wrong with the row of a record; "" when it holds the record's values.
std::string problem_of_values(Connection& connection, std::int64_t record_number,
                              const record::Record& record);

/// Store::scan; the run exists.
void scan_values(Connection& connection, const ScanRequest& request,
                 const std::function<void(std::span<const Json>)>& take);

/// SQL: numbers of the records that only trashed runs show.
extern const std::string_view kHiddenRecords;

}  // namespace tunebench::store
