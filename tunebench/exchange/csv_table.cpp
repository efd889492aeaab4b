#include "tunebench/exchange/internal/csv_table.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::exchange {

CsvTable::CsvTable(const std::filesystem::path& file, char separator)
    : file_(file), name_(display_path(file.filename())), reader_(file_.text(), separator) {
  CsvRow row;
  if (!reader_.next(row)) {
    throw Error(ErrorCode::InvalidInput, name_ + ": there is no header line");
  }
  if (!row.problem.empty()) {
    throw Error(ErrorCode::InvalidInput, fmt::format("{}: {}", where(row), row.problem));
  }
  std::set<std::string> seen;
  for (const std::string& cell : row.cells) {
    header_.emplace_back(trim(cell));
    if (!header_.back().empty() && !seen.insert(header_.back()).second) {
      throw Error(ErrorCode::InvalidInput, fmt::format("{}: the header names column '{}' twice",
                                                       where(row), excerpt(header_.back())));
    }
  }
}

bool CsvTable::has(std::string_view column) const {
  return std::ranges::find(header_, column) != header_.end();
}

std::string CsvTable::where(const CsvRow& row) const {
  return fmt::format("{}:{}", name_, row.line);
}

void CsvTable::for_each(ForeignRows& rows, const std::function<void(const CsvRow&)>& take) {
  CsvRow row;
  while (reader_.next(row)) {
    if (row.problem.empty() && row.cells.size() != header_.size()) {
      row.problem =
          fmt::format("it has {} cells, the header has {}", row.cells.size(), header_.size());
    }
    if (row.problem.empty()) {
      take(row);
    } else {
      rows.reject(where(row), row.problem);
    }
  }
}

}  // namespace tunebench::exchange
