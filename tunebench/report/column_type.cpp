#include "tunebench/report/column_type.h"

#include <algorithm>
#include <array>

#include "tunebench/record/column.h"
#include "tunebench/record/record.h"

namespace tunebench::report {
namespace {

constexpr std::array<std::string_view, 4> kCounts{"n", "failed", "outliers", "runs"};
constexpr std::array<std::string_view, 4> kShareColumns{"f_gpu_oom", "f_host_oom", "f_other_error",
                                                        "f_no_error"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

ColumnType column_type(std::string_view name, bool aggregated) {
  switch (record::column_kind(name)) {
    case record::ColumnKind::Integer:
      return aggregated && record::find_field(name) != nullptr ? ColumnType::Real
                                                               : ColumnType::Integer;
    case record::ColumnKind::Real:
      return ColumnType::Real;
    case record::ColumnKind::Boolean:
      return ColumnType::Boolean;
    case record::ColumnKind::List:
    case record::ColumnKind::Text:
      break;
  }
  // The columns that only report::aggregate makes.
  if (is_one_of(kCounts, name) || name.ends_with("_n")) {
    return ColumnType::Integer;
  }
  const bool is_real =
      is_one_of(kShareColumns, name) || name.ends_with("_ci_lo") || name.ends_with("_ci_hi");
  return is_real ? ColumnType::Real : ColumnType::Text;
}

}  // namespace tunebench::report
