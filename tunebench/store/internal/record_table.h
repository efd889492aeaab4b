#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/store/internal/connection.h"
#include "tunebench/store/store.h"

namespace tunebench::store {

/// Records, the environments they share, and which run shows which.
class RecordTable {
 public:
  explicit RecordTable(Connection& connection) : connection_(connection) {}

  [[nodiscard]] bool has(const std::string& id) const;

  /// Within a transaction, with all that belongs to it: environment, values, link, count of its
  /// run, end of the run's claim. The id must be new, the run must exist.
  void insert(const record::Record& record);
  /// Only the row of `record` under a number of its own when it is given one; returns the number.
  std::int64_t insert_row(const record::Record& record, std::optional<std::int64_t> number = {});

  /// Within a transaction; counts what was not linked before. Errors: NotFound for an unknown id.
  void link_reused(const std::string& run, std::span<const std::string> ids);

  enum class Order { OldestFirst, NewestFirst };
  /// condition: SQL over the columns of `record`. Those that only trashed runs show are left out.
  [[nodiscard]] std::vector<record::Record> select(std::string_view condition, const Values& values,
                                                   Order order = Order::OldestFirst) const;
  /// As Store::for_each_record; the run exists.
  void for_each(const std::optional<std::string>& run,
                const std::function<void(const RunRecord&)>& take) const;

 private:
  std::int64_t environment_number(const Json& environment);
  [[nodiscard]] record::Record read(const std::string& body, std::int64_t environment) const;
  void count(const std::string& run, bool is_valid, bool reused, std::int64_t times);
  /// Names of what hides records: empty text when nothing is in the trash.
  [[nodiscard]] std::string hidden(std::string_view column) const;

  Connection& connection_;
  mutable std::map<std::int64_t, Json> environments_;  ///< read, by number
  std::map<std::string, std::int64_t> numbers_;        ///< kept, by hash
};

}  // namespace tunebench::store
