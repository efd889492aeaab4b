#include <algorithm>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/exchange/column_map.h"
#include "tunebench/exchange/internal/ado_results.h"
#include "tunebench/exchange/internal/csv_table.h"
#include "tunebench/exchange/internal/targets.h"

namespace tunebench::exchange {
namespace {

using NumberedColumns = std::vector<std::pair<std::string, std::size_t>>;

std::size_t column_number(const CsvTable& table, const std::string& column) {
  const auto found = std::ranges::find(table.header(), column);
  if (found == table.header().end()) {
    const std::string hint = did_you_mean(column, table.header());
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: there is no column '{}'{}", table.name(), excerpt(column),
                            hint.empty() ? "" : " - " + hint));
  }
  return static_cast<std::size_t>(found - table.header().begin());
}

NumberedColumns numbered(const CsvTable& table, const NamedTexts& columns) {
  NumberedColumns found;
  for (const auto& [name, column] : columns) {
    found.emplace_back(name, column_number(table, column));
  }
  return found;
}

NamedTexts cells_of(const CsvRow& row, const NumberedColumns& columns) {
  NamedTexts cells;
  for (const auto& [name, number] : columns) {
    cells.emplace_back(name, row.cells[number]);
  }
  return cells;
}

/// The columns of one experiment.
struct Copied {
  AdoReference reference;
  NumberedColumns inputs;
  NumberedColumns figures;
};

Copied copied(const CsvTable& table, const CopyFrom& copy, const CopiedExperiment& experiment) {
  NamedTexts inputs = copy.inputs;
  inputs.insert(inputs.end(), experiment.inputs.begin(), experiment.inputs.end());
  if (inputs.empty()) {
    for (const std::string& name : needed_inputs()) {
      inputs.emplace_back(name, name);
    }
  }
  Copied found;
  found.reference.actuator = experiment.actuator;
  found.reference.experiment = experiment.experiment;
  found.inputs = numbered(table, inputs);
  found.figures = numbered(table, experiment.figures);
  return found;
}

}  // namespace

ForeignRecords read_copy(const CopyFrom& copy, const ColumnMap& map) {
  CsvTable table(copy.file, map.separator);
  if (!copy.identifier_column.empty()) {
    column_number(table, copy.identifier_column);
  }
  std::vector<Copied> experiments;
  for (const CopiedExperiment& experiment : copy.experiments) {
    experiments.push_back(copied(table, copy, experiment));
  }
  ForeignRows rows;
  table.for_each(rows, [&](const CsvRow& row) {
    for (const Copied& one : experiments) {
      add_ado_result({.where = table.where(row),
                      .experiment = one.reference,
                      .inputs = cells_of(row, one.inputs),
                      .figures = cells_of(row, one.figures),
                      .environment = Json::object(
                          {{"imported_from", "csv of ado"}, {"generator", copy.generator}})},
                     map, rows);
    }
  });
  return rows.take();
}

}  // namespace tunebench::exchange
