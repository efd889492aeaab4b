#pragma once

#include <chrono>
#include <filesystem>
#include <map>

#include "tunebench/store/internal/connection.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tunebench::store {

enum class Access { Write, Read, ReadImmutable };

/// An open SQLite file. SQLITE_BUSY and the like never leave it before the wait is over.
class SqliteConnection final : public Connection {
 public:
  /// wait: how long to wait for other processes before giving up.
  SqliteConnection(std::filesystem::path file, Access access, std::chrono::milliseconds wait);
  ~SqliteConnection() override;

  std::unique_ptr<Rows> query(std::string_view sql, const Values& values = {}) override;
  void for_each(std::string_view sql, const Values& values,
                const std::function<void(const Rows&)>& take) override;
  std::int64_t execute(std::string_view sql, const Values& values = {}) override;
  void script(const std::string& sql) override;
  void transaction(const std::function<void()>& body,
                   Durability durability = Durability::Full) override;
  [[nodiscard]] const Dialect& dialect() const override;
  [[nodiscard]] std::string location() const override;

  /// Runs `body` again while another process is in the way, until the wait is over. SQLite's own
  /// waiting does not cover every case, such as switching a new file to WAL.
  void retry_while_busy(const std::function<void()>& body) const;

  /// A private copy of `source` that vanishes with the object; messages name `source`.
  static std::unique_ptr<SqliteConnection> copy_of(const SqliteConnection& source);

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  /// Throws what a result code of SQLite means.
  [[noreturn]] void fail(int code) const;

 private:
  class Cursor;
  explicit SqliteConnection(const SqliteConnection& source, std::nullptr_t);
  sqlite3_stmt* prepare(std::string_view sql);
  void give_back(sqlite3_stmt* statement) noexcept;
  void set_durability(Durability durability);

  std::filesystem::path file_;
  std::chrono::milliseconds wait_;
  sqlite3* handle_ = nullptr;
  std::map<std::string, sqlite3_stmt*, std::less<>> idle_;  ///< prepared, not in use
  Durability durability_ = Durability::Full;
};

}  // namespace tunebench::store
