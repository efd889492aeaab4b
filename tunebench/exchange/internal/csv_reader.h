#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tunebench::exchange {

/// A record of a CSV file; a cell in quotes may run over several lines.
struct CsvRow {
  std::int64_t line = 0;  ///< where it begins, from 1
  std::vector<std::string> cells;
  std::string problem;  ///< what is wrong with it; empty when all is well
};

/// RFC 4180, read leniently where nothing is lost: a byte order mark, LF or CR for CRLF, and lines
/// without any text are taken. `text` must outlive the reader.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text, char separator = ',');

  /// The next row, or false at the end.
  bool next(CsvRow& row);

 private:
  void read_cell(CsvRow& row);
  void read_quoted(CsvRow& row, std::string& cell);
  /// Moves behind a line break; false when there is none here.
  bool skip_break();
  [[nodiscard]] bool at_end() const { return place_ == text_.size(); }

  std::string_view text_;
  char separator_;
  std::size_t place_ = 0;
  std::int64_t line_ = 1;
};

}  // namespace tunebench::exchange
