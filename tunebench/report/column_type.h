#pragma once

#include <string_view>

namespace tunebench::report {

enum class ColumnType { Integer, Real, Text, Boolean };

/// Type of a column of record::flat or, when `aggregated`, of report::aggregate, whatever the rows
/// hold: files of different runs fit together. Aggregated whole numbers are medians, so Real; lists
/// are Text.
ColumnType column_type(std::string_view name, bool aggregated);

}  // namespace tunebench::report
