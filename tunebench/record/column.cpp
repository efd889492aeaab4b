#include "tunebench/record/column.h"

#include "tunebench/experiment/property.h"
#include "tunebench/record/record.h"

namespace tunebench::record {
namespace {

ColumnKind kind_of(experiment::ValueType type) {
  switch (type) {
    case experiment::ValueType::Integer:
      return ColumnKind::Integer;
    case experiment::ValueType::Real:
      return ColumnKind::Real;
    case experiment::ValueType::Boolean:
      return ColumnKind::Boolean;
    case experiment::ValueType::StringList:
      return ColumnKind::List;
    case experiment::ValueType::String:
      break;
  }
  return ColumnKind::Text;
}

ColumnKind kind_of(FieldType type) {
  switch (type) {
    case FieldType::Integer:
      return ColumnKind::Integer;
    case FieldType::Real:
      return ColumnKind::Real;
    case FieldType::Boolean:
      return ColumnKind::Boolean;
    case FieldType::Text:
      break;
  }
  return ColumnKind::Text;
}

}  // namespace

ColumnKind column_kind(std::string_view name) {
  if (const experiment::Property* property = experiment::find_property(name)) {
    return kind_of(property->type);
  }
  if (const Field* field = find_field(name)) {
    return kind_of(field->type);
  }
  if (name == "is_valid") {
    return ColumnKind::Boolean;
  }
  return name == "repeat" || name == "attempt" ? ColumnKind::Integer : ColumnKind::Text;
}

}  // namespace tunebench::record
