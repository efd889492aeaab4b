#include "tunebench/report/column_type.h"

#include <algorithm>
#include <array>

#include "tunebench/experiment/property.h"
#include "tunebench/record/record.h"

namespace tunebench::report {
namespace {

constexpr std::array<std::string_view, 6> kCounts{"repeat", "attempt",  "n",
                                                  "failed", "outliers", "runs"};
constexpr std::array<std::string_view, 4> kShareColumns{"f_gpu_oom", "f_host_oom", "f_other_error",
                                                        "f_no_error"};

ColumnType type_of(const experiment::Property& property) {
  switch (property.type) {
    case experiment::ValueType::Integer:
      return ColumnType::Integer;
    case experiment::ValueType::Real:
      return ColumnType::Real;
    case experiment::ValueType::Boolean:
      return ColumnType::Boolean;
    case experiment::ValueType::String:
    case experiment::ValueType::StringList:
      break;
  }
  return ColumnType::Text;
}

ColumnType type_of(const record::Field& field, bool aggregated) {
  switch (field.type) {
    case record::FieldType::Integer:
      return aggregated ? ColumnType::Real : ColumnType::Integer;
    case record::FieldType::Real:
      return ColumnType::Real;
    case record::FieldType::Boolean:
      return ColumnType::Boolean;
    case record::FieldType::Text:
      break;
  }
  return ColumnType::Text;
}

}  // namespace

ColumnType column_type(std::string_view name, bool aggregated) {
  if (const experiment::Property* property = experiment::find_property(name)) {
    return type_of(*property);
  }
  if (const record::Field* field = record::find_field(name)) {
    return type_of(*field, aggregated);
  }
  if (name == "is_valid") {
    return ColumnType::Boolean;
  }
  if (std::find(kCounts.begin(), kCounts.end(), name) != kCounts.end() || name.ends_with("_n")) {
    return ColumnType::Integer;
  }
  const bool share =
      std::find(kShareColumns.begin(), kShareColumns.end(), name) != kShareColumns.end();
  return share || name.ends_with("_ci_lo") || name.ends_with("_ci_hi") ? ColumnType::Real
                                                                       : ColumnType::Text;
}

}  // namespace tunebench::report
