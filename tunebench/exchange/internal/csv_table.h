#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/files.h"
#include "tunebench/exchange/internal/csv_reader.h"
#include "tunebench/exchange/internal/foreign_rows.h"

namespace tunebench::exchange {

/// A CSV file with a header.
class CsvTable {
 public:
  /// Errors: those of files; InvalidInput without a header, or when it names a column twice.
  CsvTable(const std::filesystem::path& file, char separator);

  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  [[nodiscard]] bool has(std::string_view column) const;
  /// "history.csv:4"
  [[nodiscard]] std::string where(const CsvRow& row) const;
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Calls `take` for each row that has a cell for each column; others are rejected.
  void for_each(ForeignRows& rows, const std::function<void(const CsvRow&)>& take);

 private:
  MappedFile file_;
  std::string name_;
  CsvReader reader_;
  std::vector<std::string> header_;
};

}  // namespace tunebench::exchange
