#include "tunebench/exchange/internal/ado_csv.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/exchange/internal/ado_results.h"
#include "tunebench/exchange/internal/targets.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::exchange {
namespace {

/// Columns that say nothing about a measurement.
constexpr std::array<std::string_view, 8> kFixed{
    "",           "index",        "request_index", "result_index",
    "request_id", "entity_index", "generatorid",   "identifier"};

struct AdoColumn {
  enum class Kind { Ignored, Experiment, Reason, Valid, Input, Figure };
  Kind kind = Kind::Ignored;
  std::string name;        ///< property or target, in the reference system's words
  std::string experiment;  ///< of observed columns; empty: the row's
};

/// The target in "EXPERIMENT-TARGET"; nullopt when the column is none of these.
std::optional<std::pair<std::string, std::string>> observed(const std::string& column,
                                                            const ColumnMap& map) {
  for (std::size_t dash = column.find('-'); dash != std::string::npos;
       dash = column.find('-', dash + 1)) {
    const std::string target = column.substr(dash + 1);
    const TargetKind kind = kind_of_target(target);
    if (kind == TargetKind::Figure || target == "is_valid" || map.find(target) != nullptr) {
      return std::pair(column.substr(0, dash), target);
    }
  }
  return std::nullopt;
}

class AdoTable {
 public:
  AdoTable(CsvTable& table, const ColumnMap& map) : table_(table), map_(map) {
    for (const std::string& name : table.header()) {
      columns_.push_back(column_of(name));
    }
    tell_unknown();
  }

  ForeignRecords read() {
    table_.for_each(rows_, [&](const CsvRow& row) { read_row(row); });
    return rows_.take();
  }

 private:
  using Kind = AdoColumn::Kind;

  AdoColumn column_of(const std::string& header) {
    std::string name = header;
    for (const std::string_view aggregate : {"-mean", "-median"}) {
      if (name.ends_with(aggregate)) {
        name.resize(name.size() - aggregate.size());
      }
    }
    if (std::ranges::find(kFixed, name) != kFixed.end()) {
      return {};
    }
    if (name == "experiment_id" || name == "reason" || name == "valid") {
      return {.kind = name == "reason"  ? Kind::Reason
                      : name == "valid" ? Kind::Valid
                                        : Kind::Experiment,
              .name = name};
    }
    const std::string* mapped = map_.find(name);
    const TargetKind kind = kind_of_target(mapped == nullptr ? name : *mapped);
    if (kind == TargetKind::Input) {
      return {.kind = Kind::Input, .name = name};
    }
    if (kind == TargetKind::Figure || name == "is_valid" || mapped != nullptr) {
      return {.kind = Kind::Figure, .name = name};
    }
    if (const auto found = observed(name, map_)) {
      return {.kind = Kind::Figure, .name = found->second, .experiment = found->first};
    }
    unknown_.push_back(header);
    return {};
  }

  /// A column that is neither may be an input, without which different points are one.
  void tell_unknown() {
    std::vector<std::string> missing;
    for (const std::string& name : needed_inputs()) {
      if (!is_given(name)) {
        missing.push_back(name);
      }
    }
    if (!missing.empty()) {
      throw Error(
          ErrorCode::InvalidInput,
          fmt::format(
              "{}: there is no column for {}{}; --map COLUMN=INPUT says which it is, "
              "--set INPUT=VALUE gives one value for all rows",
              table_.name(), join(missing, ", "),
              unknown_.empty() ? "" : "; not known are " + excerpt(join(unknown_, ", "), 200)));
    }
    if (!unknown_.empty()) {
      rows_.note("columns that are not taken: " + excerpt(join(unknown_, ", "), 200));
    }
  }

  [[nodiscard]] bool is_given(const std::string& property) const {
    const auto gives = [&](const AdoColumn& column) {
      const std::string* mapped = map_.find(column.name);
      return column.kind == Kind::Input && (mapped == nullptr ? column.name : *mapped) == property;
    };
    return std::ranges::any_of(columns_, gives) ||
           std::ranges::any_of(map_.constants,
                               [&](const auto& one) { return one.first == property; });
  }

  /// Cells with several results hold lists: how many; 0 when their lengths differ.
  [[nodiscard]] std::size_t results_in(const CsvRow& row) const {
    std::size_t count = 1;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].kind != Kind::Figure) {
        continue;
      }
      if (const std::optional<Json> list = list_of(row.cells[i])) {
        const std::size_t length = list->as_array().size();
        if (count != 1 && length != count) {
          return 0;
        }
        count = length;
      }
    }
    return count;
  }

  /// The cell's text for one of `count` results.
  [[nodiscard]] std::string cell(const CsvRow& row, std::size_t column, std::size_t index,
                                 std::size_t count) const {
    const std::string& text = row.cells[column];
    const std::optional<Json> list = list_of(text);
    const bool is_split = list && list->as_array().size() == count &&
                          (columns_[column].kind == Kind::Figure || count > 1);
    return is_split ? cell_of(list->as_array()[index]) : text;
  }

  void read_row(const CsvRow& row) {
    const std::size_t count = results_in(row);
    if (count == 0) {
      rows_.reject(table_.where(row), "its lists are of different lengths");
      return;
    }
    for (std::size_t i = 0; i < count; ++i) {
      read_result(row, i, count);
    }
  }

  void read_result(const CsvRow& row, std::size_t index, std::size_t count) {
    AdoResult common;
    common.where = table_.where(row);
    common.environment = Json::object({{"imported_from", "csv of ado"}});
    std::string experiment = map_.experiment;
    std::map<std::string, NamedTexts> figures;  // by experiment
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const AdoColumn& column = columns_[i];
      std::string text = cell(row, i, index, count);
      switch (column.kind) {
        case Kind::Experiment:
          experiment = text;
          break;
        case Kind::Reason:
          common.reason = says_nothing(text) ? "" : text;
          break;
        case Kind::Input:
          if (!says_nothing(text)) {
            common.inputs.emplace_back(column.name, std::move(text));
          }
          break;
        case Kind::Figure:
          if (!says_nothing(text)) {
            figures[column.experiment].emplace_back(column.name, std::move(text));
          }
          break;
        case Kind::Valid:
        case Kind::Ignored:
          break;
      }
    }
    add_results(common, experiment, figures);
  }

  void add_results(AdoResult& common, const std::string& experiment,
                   const std::map<std::string, NamedTexts>& figures) {
    for (const auto& [name, values] : figures) {
      AdoResult result = common;
      result.experiment = parse_ado_reference(name.empty() ? experiment : name);
      result.figures = values;
      add(result);
    }
    if (figures.empty()) {
      common.experiment = parse_ado_reference(experiment.empty() ? only_experiment() : experiment);
      if (common.reason.empty()) {
        rows_.reject(common.where, "it holds no figure");
      } else {
        add(common);
      }
    }
  }

  void add(const AdoResult& result) {
    if (result.experiment.experiment.empty()) {
      rows_.reject(result.where, "it does not say which experiment it is of; --experiment ID does");
    } else {
      add_ado_result(result, map_, rows_);
    }
  }

  /// A failed row of the observed format does not name its experiment.
  [[nodiscard]] std::string only_experiment() const {
    std::string only;
    for (const AdoColumn& column : columns_) {
      if (column.experiment.empty() || column.experiment == only) {
        continue;
      }
      if (!only.empty()) {
        return "";
      }
      only = column.experiment;
    }
    return only;
  }

  CsvTable& table_;
  const ColumnMap& map_;
  std::vector<AdoColumn> columns_;
  std::vector<std::string> unknown_;
  ForeignRows rows_;
};

}  // namespace

bool is_ado_csv(const CsvTable& table) {
  return table.has("identifier") && table.has("generatorid");
}

ForeignRecords read_ado_csv(CsvTable& table, const ColumnMap& map) {
  return AdoTable(table, map).read();
}

}  // namespace tunebench::exchange
