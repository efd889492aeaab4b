#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "tunebench/base/json.h"

struct sqlite3_stmt;

namespace tunebench::expression {

class Connection;

/// One SQL expression over ?1, ?2, ..., prepared in an empty database in memory of this thread,
/// whose authorizer denies everything but the functions of expressions.
class RowQuery {
 public:
  /// Errors: InvalidInput with SQLite's reason.
  explicit RowQuery(std::string_view sql);
  ~RowQuery();
  RowQuery(const RowQuery&) = delete;
  RowQuery& operator=(const RowQuery&) = delete;

  /// Errors: InvalidInput with the reason.
  [[nodiscard]] Json evaluate(std::span<const Json> values) const;
  /// The same as a condition: 1 true, 0 false or unknown, -1 a text.
  [[nodiscard]] int truth(std::span<const Json> values) const;

 private:
  void run(std::span<const Json> values) const;
  void bind(int place, const Json& value) const;
  [[noreturn]] void fail() const;

  std::shared_ptr<Connection> connection_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace tunebench::expression
