#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

struct sqlite3;

namespace tunebench::exchange {

/// A SQLite file of another program, which is only read: no statement of ours writes, and nothing
/// that its schema defines is called.
class SqliteReader {
 public:
  /// Errors of all members: Io, NotFound; Corrupt when it is damaged or no such file.
  explicit SqliteReader(std::filesystem::path file);
  ~SqliteReader();
  SqliteReader(const SqliteReader&) = delete;
  SqliteReader& operator=(const SqliteReader&) = delete;

  /// Calls `take` with each row's cells as text; "" for NULL.
  void for_each(const std::string& sql,
                const std::function<void(const std::vector<std::string>&)>& take);

 private:
  [[noreturn]] void fail(int code) const;

  std::filesystem::path file_;
  sqlite3* handle_ = nullptr;
};

}  // namespace tunebench::exchange
