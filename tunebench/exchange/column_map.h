#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/exchange/import.h"

namespace tunebench::exchange {

/// What the columns of a file are, or the properties of a store of the reference system.
struct ColumnMap {
  /// Column and what it holds: an input, a metric, or status, reason, started_at, repeat, attempt,
  /// experiment. An empty text: it is left out.
  std::vector<std::pair<std::string, std::string>> columns;
  /// Inputs that are the same in every row: name and value.
  std::vector<std::pair<std::string, std::string>> constants;
  std::string experiment;  ///< of rows that do not say theirs; empty: they must
  char separator = ',';    ///< of a CSV file
  /// Rows are results of the reference system: inputs that are not named had its defaults.
  bool ado = false;

  [[nodiscard]] bool empty() const { return columns.empty(); }
  /// What a column holds; nullptr when nothing is said of it.
  [[nodiscard]] const std::string* find(std::string_view column) const;
};

/// Reads "a=model_name,b=batch_size" of an option into the map; metrics: the targets must be
/// metrics. Mistakes are told with the nearest name.
void read_columns(std::string_view text, std::string_view option, bool metrics, ColumnMap& map,
                  Diagnostics& problems);
/// Reads "number_gpus=1" into the constants.
void read_constant(std::string_view text, std::string_view option, ColumnMap& map,
                   Diagnostics& problems);

/// Rows of a CSV file. Without columns in the map they must be those of our own export, or of the
/// reference system's (docs/ado-import.md). Errors: those of files; InvalidInput when the header is
/// neither, or lacks a column of the map (with the nearest), or nothing can be read.
ForeignRecords read_csv(const std::filesystem::path& file, const ColumnMap& map);

/// Results of all sample stores in a SQLite file of the reference system, which is only read. The
/// columns of the map name its properties. Errors: those of files; Corrupt when it is damaged or
/// has no such store.
ForeignRecords read_ado_store(const std::filesystem::path& file, const ColumnMap& map);

/// One experiment of a `copyFrom`: its properties and the columns that hold them.
struct CopiedExperiment {
  std::string experiment;
  std::string actuator;  ///< "replay" for one that is defined by its data alone
  std::vector<std::pair<std::string, std::string>> figures;  ///< target property and column
  std::vector<std::pair<std::string, std::string>> inputs;   ///< property and column
};
/// `copyFrom` of a sample store of the reference system: what a CSV file holds.
struct CopyFrom {
  std::filesystem::path file;
  std::string identifier_column;
  std::string generator;
  std::vector<std::pair<std::string, std::string>> inputs;  ///< of all experiments
  std::vector<CopiedExperiment> experiments;
};
/// The rows of that file, as the reference system would copy them; the map says which of its
/// properties are which of ours. An experiment of ours that names no inputs has the required ones.
/// Errors: those of read_csv.
ForeignRecords read_copy(const CopyFrom& copy, const ColumnMap& map);

}  // namespace tunebench::exchange
