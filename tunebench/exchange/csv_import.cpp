#include <algorithm>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/exchange/column_map.h"
#include "tunebench/exchange/internal/ado_csv.h"
#include "tunebench/exchange/internal/ado_results.h"
#include "tunebench/exchange/internal/csv_table.h"
#include "tunebench/exchange/internal/targets.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::exchange {
namespace {

bool is_our_csv(const CsvTable& table) {
  return std::ranges::all_of(std::vector<std::string>{"id", "key", "status", "experiment", "run"},
                             [&](const std::string& name) { return table.has(name); });
}

/// What the columns hold, by number; empty: it is not taken.
class CsvImport {
 public:
  CsvImport(CsvTable& table, const ColumnMap& map, bool ours)
      : table_(table), map_(map), ours_(ours) {
    targets_.resize(table.header().size());
  }

  void map_by_name() {
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const std::string& name = table_.header()[i];
      targets_[i] = name == "id" || kind_of_target(name) != TargetKind::None ? name : "";
    }
  }

  void map_as_told() {
    std::vector<std::string> unused;
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const std::string* target = map_.find(table_.header()[i]);
      targets_[i] = target == nullptr ? "" : *target;
      if (target == nullptr && !table_.header()[i].empty()) {
        unused.push_back(table_.header()[i]);
      }
    }
    check_columns();
    check_targets();
    if (!unused.empty()) {
      rows_.note("columns that are not taken: " + excerpt(join(unused, ", "), 200));
    }
  }

  ForeignRecords read() {
    table_.for_each(rows_, [&](const CsvRow& row) { read_row(row); });
    return rows_.take();
  }

 private:
  void check_columns() const {
    for (const auto& [column, target] : map_.columns) {
      if (!table_.has(column)) {
        const std::string hint = did_you_mean(column, table_.header());
        throw Error(
            ErrorCode::InvalidInput,
            fmt::format("{}: there is no column '{}'{}", table_.name(), excerpt(column),
                        hint.empty() ? "; there are " + excerpt(join(table_.header(), ", "), 200)
                                     : " - " + hint));
      }
    }
  }

  [[nodiscard]] bool is_given(const std::string& target) const {
    return std::ranges::find(targets_, target) != targets_.end() ||
           std::ranges::any_of(map_.constants,
                               [&](const auto& one) { return one.first == target; });
  }

  void check_targets() const {
    std::vector<std::string> missing;
    for (const std::string& name : needed_inputs()) {
      if (!is_given(name)) {
        missing.push_back(name);
      }
    }
    if (!missing.empty()) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: no column is mapped to {}; --map COLUMN={} does, --set {}=VALUE "
                              "gives one value for all rows",
                              table_.name(), join(missing, ", "), missing[0], missing[0]));
    }
    if (map_.experiment.empty() && !is_given("experiment")) {
      throw Error(ErrorCode::InvalidInput,
                  table_.name() +
                      ": which experiment is this? --experiment ID tells it; tunebench "
                      "experiments lists them");
    }
    if (std::ranges::none_of(targets_, [](const std::string& target) {
          return kind_of_target(target) == TargetKind::Figure;
        })) {
      throw Error(ErrorCode::InvalidInput,
                  table_.name() + ": no column is mapped to a metric; --metric COLUMN=METRIC does");
    }
  }

  void read_row(const CsvRow& cells) {
    ForeignRow row{.where = table_.where(cells),
                   .experiment = map_.experiment,
                   .inputs = map_.constants,
                   .source = "csv",
                   .fill_defaults = map_.ado};
    row.environment = Json::object({{"imported_from", ours_ ? "csv of tunebench" : "csv"}});
    std::string problem;
    for (std::size_t i = 0; i < targets_.size() && problem.empty(); ++i) {
      const std::string& text = cells.cells[i];
      switch (kind_of_target(targets_[i])) {
        case TargetKind::Input:
          row.inputs.emplace_back(targets_[i], text);
          row.simulated = row.simulated || (targets_[i] == "trainer" && text == "simulated");
          break;
        case TargetKind::Figure:
          row.figures.emplace_back(targets_[i], text);
          break;
        case TargetKind::Other:
        case TargetKind::None:
          problem = set_other(targets_[i], text, row);
          break;
      }
    }
    if (problem.empty()) {
      rows_.add(row);
    } else {
      rows_.reject(row.where, problem);
    }
  }

  static std::string set_other(const std::string& target, const std::string& text,
                               ForeignRow& row) {
    const auto counted = [&](std::int64_t& number) {
      const std::optional<std::int64_t> read = parse_int(trim(text));
      number = read.value_or(1);
      return read && *read >= 1
                 ? ""
                 : fmt::format("{} is '{}', which is no count", target, excerpt(text));
    };
    if (target.empty()) {
      return "";
    }
    if (target == "status") {
      row.status = record::find_outcome(trim(text));
      return row.status ? "" : fmt::format("'{}' is no status", excerpt(text));
    }
    if (target == "is_valid") {
      const std::string word = lower_ascii(trim(text));
      if ((word == "0" || word == "false") && !row.status) {
        row.status = record::Outcome::InvalidConfig;
        row.reason = "is_valid is " + word;
      }
      row.may_be_bare = word == "1" || word == "true";
      return "";
    }
    if (target == "repeat" || target == "attempt") {
      return counted(target == "repeat" ? row.repeat : row.attempt);
    }
    if (target == "id") {
      row.id = trim(text);
      return is_record_id(row.id) ? "" : fmt::format("'{}' is no id of a record", excerpt(text));
    }
    (target == "experiment" ? row.experiment
     : target == "reason"   ? row.reason
                            : row.started_at) = trim(text);
    return target == "experiment" && row.experiment.empty() ? "experiment is empty" : "";
  }

  CsvTable& table_;
  const ColumnMap& map_;
  bool ours_;
  std::vector<std::string> targets_;
  ForeignRows rows_;
};

}  // namespace

ForeignRecords read_csv(const std::filesystem::path& file, const ColumnMap& map) {
  CsvTable table(file, map.separator);
  if (is_our_csv(table) && map.empty()) {
    CsvImport import(table, map, true);
    import.map_by_name();
    return import.read();
  }
  if (is_ado_csv(table)) {
    return read_ado_csv(table, map);
  }
  if (map.empty()) {
    throw Error(
        ErrorCode::InvalidInput,
        fmt::format("{}: its columns are not those of an export; say what they are with --map "
                    "COLUMN=INPUT,... and --metric COLUMN=METRIC; there are {}",
                    table.name(), excerpt(join(table.header(), ", "), 200)));
  }
  CsvImport import(table, map, false);
  import.map_as_told();
  return import.read();
}

}  // namespace tunebench::exchange
