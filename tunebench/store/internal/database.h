#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace tunebench::store {

class Database;

/// One SQL statement; columns and parameters by number from 0. Lives no longer than its database.
class Statement {
 public:
  Statement(const Database& database, std::string_view sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int place, std::string_view text);
  Statement& bind(int place, std::int64_t number);

  /// True when there is a row.
  bool step();
  /// Runs to the end; for statements without rows.
  void run();

  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] std::int64_t integer(int column) const;

 private:
  const Database& database_;
  sqlite3_stmt* statement_ = nullptr;
};

enum class Access { Write, Read, ReadImmutable };

/// An open SQLite file. Errors of all members: Io with the file's name and the reason; Corrupt when
/// it is not a database or damaged.
class Database {
 public:
  /// wait: how long to wait for other processes before giving up.
  Database(std::filesystem::path file, Access access, std::chrono::milliseconds wait);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void execute(const char* sql) const;
  /// The first column of the first row.
  [[nodiscard]] std::int64_t query_integer(std::string_view sql) const;
  [[nodiscard]] std::string query_text(std::string_view sql) const;

  /// Runs `body` between BEGIN IMMEDIATE and COMMIT; rolls back when it throws. Waits for others:
  /// body may run again after another process got in first.
  void transaction(const std::function<void()>& body) const;

  /// Runs `body` again while another process is in the way, until the wait is over. SQLite's own
  /// waiting does not cover every case, such as switching a new file to WAL.
  void retry_while_busy(const std::function<void()>& body) const;

  [[nodiscard]] const std::filesystem::path& file() const { return file_; }
  [[nodiscard]] sqlite3* handle() const { return handle_; }
  /// Throws what a result code of SQLite means.
  [[noreturn]] void fail(int code) const;

 private:
  std::filesystem::path file_;
  std::chrono::milliseconds wait_;
  sqlite3* handle_ = nullptr;
};

}  // namespace tunebench::store
