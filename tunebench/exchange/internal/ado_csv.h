#pragma once

#include "tunebench/exchange/column_map.h"
#include "tunebench/exchange/internal/csv_table.h"

namespace tunebench::exchange {

/// Whether the header is one of those that the reference system writes.
bool is_ado_csv(const CsvTable& table);
ForeignRecords read_ado_csv(CsvTable& table, const ColumnMap& map);

}  // namespace tunebench::exchange
