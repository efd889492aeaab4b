#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tunebench::store {

/// A parameter of a statement: NULL, a number or text.
using Value = std::variant<std::monostate, std::int64_t, double, std::string>;
using Values = std::vector<Value>;

/// The rows of one statement, one at a time; columns by number from 0. Lives no longer than its
/// connection.
class Rows {
 public:
  virtual ~Rows() = default;
  /// True when there is a next row, which then is the one that the members below read.
  virtual bool step() = 0;
  [[nodiscard]] virtual bool is_null(int column) const = 0;
  /// "" for NULL.
  [[nodiscard]] virtual std::string text(int column) const = 0;
  /// 0 for NULL.
  [[nodiscard]] virtual std::int64_t integer(int column) const = 0;
  [[nodiscard]] virtual double real(int column) const = 0;
};

/// Where the SQL of the two databases differs.
struct Dialect {
  std::string_view name;
  std::string_view number_key;  ///< type of a column that numbers its rows in the order of making
  std::string_view integer;     ///< type of 64-bit numbers
  std::string_view real;        ///< type of doubles
  std::string_view now;         ///< expression: seconds since 1970 by the store's own clock
  std::string_view columns;     ///< query: names of the columns of the table that is its parameter
};

/// What a transaction is worth when it has ended.
enum class Durability {
  Full,     ///< on the disk, also when the power fails
  Relaxed,  ///< seen by all processes and safe from any kill; a power failure may undo it
};

/// An open database. The SQL is what both understand; parameters are written "?". Errors of all
/// members: Io naming the location with the reason; Corrupt when it is damaged or no database. Not
/// thread-safe.
class Connection {
 public:
  Connection() = default;
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  /// The rows are those of the moment of the call or of each step.
  virtual std::unique_ptr<Rows> query(std::string_view sql, const Values& values = {}) = 0;
  /// As query, for results that may be larger than memory.
  virtual void for_each(std::string_view sql, const Values& values,
                        const std::function<void(const Rows&)>& take) = 0;
  /// The number of rows inserted, changed or deleted.
  virtual std::int64_t execute(std::string_view sql, const Values& values = {}) = 0;
  /// Several statements without parameters.
  virtual void script(const std::string& sql) = 0;

  /// Runs `body` as one transaction that no other writer gets between; undoes it when it throws.
  /// Waits for others. Body may run again: after another process got in first, and after a
  /// connection was lost, when the first time may have been kept or not.
  virtual void transaction(const std::function<void()>& body,
                           Durability durability = Durability::Full) = 0;

  [[nodiscard]] virtual const Dialect& dialect() const = 0;
  /// For messages; without a password.
  [[nodiscard]] virtual std::string location() const = 0;

  /// The first column of the first row.
  std::int64_t query_integer(std::string_view sql, const Values& values = {});
  std::string query_text(std::string_view sql, const Values& values = {});
  bool has(std::string_view sql, const Values& values = {});
  /// Seconds since 1970 by the store's own clock, so that hosts agree on it.
  std::int64_t now();
};

/// The text with @name replaced by the dialect's word, for tables: @number_key, @integer, @real.
std::string in_dialect(const Dialect& dialect, std::string_view sql);

/// Text that every database takes: U+FFFD in place of zero bytes and of what is no UTF-8.
std::string storable_text(std::string_view text);

}  // namespace tunebench::store
