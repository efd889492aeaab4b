#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tunebench/exchange/column_map.h"
#include "tunebench/exchange/internal/foreign_rows.h"

namespace tunebench::exchange {

/// "SFTTrainer.finetune_full_benchmark-v1.0.0-flash_attn.0", taken apart. The reference system's
/// text cannot be taken apart for all names; for those of our properties it can.
struct AdoReference {
  std::string actuator;    ///< empty when the text has none
  std::string experiment;  ///< without parameters and version
  NamedTexts parameters;
};
AdoReference parse_ado_reference(std::string_view text);

/// A result of the reference system, in its names.
struct AdoResult {
  std::string where;
  AdoReference experiment;
  NamedTexts inputs;   ///< of the entity
  NamedTexts figures;  ///< target properties, is_valid among them
  std::string reason;  ///< of one that it calls invalid
  std::string started_at;
  Json environment;
};

/// Adds it as a row of ours. What it cannot be is rejected, what is left out is noted.
void add_ado_result(const AdoResult& result, const ColumnMap& map, ForeignRows& rows);

}  // namespace tunebench::exchange
