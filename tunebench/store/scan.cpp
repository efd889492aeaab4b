#include <fmt/format.h>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/store/internal/value_table.h"

namespace tunebench::store {
namespace {

const ValueColumn& column_named(const std::string& name) {
  if (const ValueColumn* column = find_value_column(name)) {
    return *column;
  }
  const std::string hint = did_you_mean(name, scan_columns());
  throw Error(ErrorCode::InvalidInput, fmt::format("there is no column '{}'{}", printable(name),
                                                   hint.empty() ? "" : " - " + hint));
}

[[noreturn]] void throw_text(const expression::Expression& condition) {
  throw Error(ErrorCode::InvalidInput,
              fmt::format("expression '{}' gives a text, which is neither true nor false; compare "
                          "it with something",
                          excerpt(condition.text())));
}

/// One scan: which columns are read, and what is done with a row.
class Scan {
 public:
  Scan(Connection& connection, const ScanRequest& request)
      : connection_(connection),
        request_(request),
        pushed_down_(request.condition != nullptr && connection.dialect().name == "sqlite"),
        there_(value_columns_of(connection)) {
    for (const std::string& name : request.columns) {
      add(name);
    }
    if (pushed_down_) {
      // The value itself comes along, since SQLite would take a text for a number.
      const std::string condition = request.condition->sql(
          [this](const std::string& name) { return "+" + term(column_named(name)); });
      terms_.push_back(fmt::format("typeof({})", condition));
      where_ = fmt::format("CASE typeof({0}) WHEN 'text' THEN 1 ELSE {0} END", condition);
    } else if (request.condition != nullptr) {
      for (const std::string& name : request.condition->used()) {
        add(name);
      }
    }
  }

  void run(const std::function<void(std::span<const Json>)>& take) {
    Values values;
    const std::string sql = statement(values);
    std::vector<Json> row(types_.size());
    const std::size_t shown = request_.columns.size();
    connection_.for_each(sql, values, [&](const Rows& rows) {
      for (std::size_t i = 0; i < types_.size(); ++i) {
        row[i] = value_in(types_[i], rows, static_cast<int>(i));
      }
      if (pushed_down_ && rows.text(static_cast<int>(types_.size())) == "text") {
        throw_text(*request_.condition);
      }
      if (pushed_down_ || request_.condition == nullptr ||
          request_.condition->holds(std::span(row).subspan(shown))) {
        take(std::span(row).first(shown));
      }
    });
  }

 private:
  void add(const std::string& name) {
    const ValueColumn& column = column_named(name);
    types_.push_back(column.type);
    terms_.push_back(term(column));
  }

  std::string term(const ValueColumn& column) {
    if (column.of_record) {
      joined_ = true;
      return fmt::format("record.\"{}\"", column.name);
    }
    // A store of an older program, opened for reading, has fewer columns.
    return there_.contains(column.name) ? fmt::format("value.\"{}\"", column.name) : "NULL";
  }

  [[nodiscard]] std::string statement(Values& values) const {
    std::string sql =
        fmt::format("SELECT {} FROM value", terms_.empty() ? "NULL" : join(terms_, ", "));
    if (joined_) {
      sql += " JOIN record ON record.number = value.record";
    }
    std::vector<std::string> conditions;
    std::string order = "value.record";
    if (request_.run) {
      sql += " JOIN run_record ON run_record.record = value.record";
      conditions.emplace_back("run_record.run = ?");
      values.emplace_back(*request_.run);
      order = "run_record.number";
    } else if (connection_.has("SELECT 1 FROM run WHERE trashed <> 0")) {
      conditions.push_back(fmt::format("value.record NOT IN ({})", kHiddenRecords));
    }
    if (!where_.empty()) {
      conditions.push_back(where_);
    }
    return fmt::format("{}{}{} ORDER BY {}", sql, conditions.empty() ? "" : " WHERE ",
                       join(conditions, " AND "), order);
  }

  Connection& connection_;
  const ScanRequest& request_;
  bool pushed_down_;
  std::set<std::string> there_;
  std::vector<record::ColumnKind>
      types_;                       ///< of the columns asked for, then of those of the condition
  std::vector<std::string> terms_;  ///< what is selected: these, or these and the condition's kind
  std::string where_;
  bool joined_ = false;
};

}  // namespace

void scan_values(Connection& connection, const ScanRequest& request,
                 const std::function<void(std::span<const Json>)>& take) {
  Scan(connection, request).run(take);
}

}  // namespace tunebench::store
