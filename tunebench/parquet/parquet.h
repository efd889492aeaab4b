#pragma once

#include <span>
#include <string>
#include <vector>

#include "tunebench/base/json.h"

namespace tunebench::parquet {

enum class ColumnType { Integer, Real, Text, Boolean };

/// One column; all have as many values. Null where there is none.
struct Column {
  std::string name;
  ColumnType type = ColumnType::Text;
  std::vector<Json> values =
      {};  ///< of a Text column anything: what is no string becomes JSON text
};

/// Whether the component lies beside the program. Whether it can be loaded, write_parquet tells.
bool is_available();

/// The bytes of a Parquet file: int64, double, UTF-8 text and boolean, all nullable, compressed by
/// Snappy. Errors: Unsupported when this build has no Arrow or it cannot be loaded, with what to
/// do; Internal when a value does not fit its column.
std::string write_parquet(std::span<const Column> columns);

}  // namespace tunebench::parquet
