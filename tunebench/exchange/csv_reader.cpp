#include "tunebench/exchange/internal/csv_reader.h"

#include <fmt/format.h>

#include "tunebench/base/text.h"

namespace tunebench::exchange {

CsvReader::CsvReader(std::string_view text, char separator) : text_(text), separator_(separator) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text_.starts_with(kByteOrderMark)) {
    text_.remove_prefix(kByteOrderMark.size());
  }
}

bool CsvReader::skip_break() {
  if (at_end() || (text_[place_] != '\r' && text_[place_] != '\n')) {
    return false;
  }
  place_ += text_.substr(place_).starts_with("\r\n") ? 2U : 1U;
  ++line_;
  return true;
}

bool CsvReader::next(CsvRow& row) {
  while (skip_break()) {
  }
  if (at_end()) {
    return false;
  }
  row = {.line = line_, .cells = {}, .problem = {}};
  for (;;) {
    read_cell(row);
    if (at_end() || skip_break()) {
      break;
    }
    ++place_;  // the separator
  }
  return true;
}

void CsvReader::read_quoted(CsvRow& row, std::string& cell) {
  ++place_;
  while (!at_end()) {
    const char letter = text_[place_];
    if (letter == '"') {
      ++place_;
      if (at_end() || text_[place_] != '"') {
        return;
      }
    }
    line_ += letter == '\n' ? 1 : 0;
    cell += text_[place_++];
  }
  row.problem = "the quotes that open in this row never close";
}

void CsvReader::read_cell(CsvRow& row) {
  std::string cell;
  if (!at_end() && text_[place_] == '"') {
    read_quoted(row, cell);
    if (!at_end() && text_[place_] != separator_ && text_[place_] != '\r' &&
        text_[place_] != '\n') {
      row.problem = fmt::format("text follows the closing quotes of '{}'", excerpt(cell));
    }
  }
  while (!at_end() && text_[place_] != separator_ && text_[place_] != '\r' &&
         text_[place_] != '\n') {
    cell += text_[place_++];
  }
  if (row.problem.empty() && !is_valid_utf8(cell)) {
    row.problem = fmt::format("'{}' is not UTF-8", excerpt(cell));
  }
  row.cells.push_back(std::move(cell));
}

}  // namespace tunebench::exchange
