#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tunebench/analyze/columns.h"
#include "tunebench/base/diagnostic.h"
#include "tunebench/base/json.h"
#include "tunebench/expression/expression.h"

namespace tunebench::analyze {

/// Which rows, and in which order, as a user writes it; empty parts say nothing.
struct SelectionText {
  std::string where = {};     ///< a condition
  std::string sort = {};      ///< expressions separated by commas; "-" before one: largest first
  std::string group_by = {};  ///< expressions separated by commas
  std::optional<std::size_t> top = {};  ///< at most so many rows, of each group when there are any
};

/// A selection that fits its columns.
class Selection {
 public:
  /// All mistakes are told, as "--where: ..."; nullopt when there is one.
  static std::optional<Selection> compile(const SelectionText& text, const Columns& columns,
                                          Diagnostics& problems);

  /// Indices of the rows that are taken, in their order: groups as their first row comes, within
  /// them as sorted. Rows that compare equal keep their order; numbers come before texts, rows
  /// without a value last in either direction. Errors: InvalidInput naming the expression.
  [[nodiscard]] std::vector<std::size_t> apply(std::span<const Json> rows) const;

  /// Whether the row fulfils --where.
  [[nodiscard]] bool takes(const Json& row) const;

  /// The values of --group-by, one for each of its expressions.
  [[nodiscard]] Json::Array group_of(const Json& row) const;
  /// The expressions of --group-by as written.
  [[nodiscard]] std::vector<std::string> group_names() const;

 private:
  struct SortKey {
    expression::Expression expression;
    bool descending = false;
  };
  explicit Selection(const Columns& columns) : columns_(columns) {}
  [[nodiscard]] std::vector<Json> used_values(const expression::Expression& expression,
                                              const Json& row) const;
  void sort(std::vector<std::size_t>& taken, std::span<const Json> rows) const;

  Columns columns_;
  std::optional<expression::Expression> where_;
  std::vector<SortKey> sort_;
  std::vector<expression::Expression> group_by_;
  std::optional<std::size_t> top_;
};

/// Parts of `text` between the commas that stand in no parentheses or quotes, trimmed.
std::vector<std::string> split_terms(std::string_view text);

}  // namespace tunebench::analyze
