#pragma once

#include <string_view>

namespace tunebench::record {

/// What a column of flat() holds besides null. A list is a JSON array of texts.
enum class ColumnKind { Integer, Real, Text, Boolean, List };

/// The kind of a column by its name, whatever the rows at hand hold: files and tables of different
/// runs fit together. A name that is no input, no field and no number of flat() is Text.
ColumnKind column_kind(std::string_view name);

}  // namespace tunebench::record
