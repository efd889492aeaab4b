#include "tunebench/exchange/internal/sqlite_reader.h"

#include <memory>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench::exchange {
namespace {

struct StatementDeleter {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

constexpr int kWaitMilliseconds = 10'000;
constexpr int kMostBytes = 64 << 20;  ///< of one cell

}  // namespace

SqliteReader::SqliteReader(std::filesystem::path file) : file_(std::move(file)) {
  const int code =
      sqlite3_open_v2(file_.c_str(), &handle_, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nullptr);
  if (code != SQLITE_OK) {
    const std::string text = sqlite3_errstr(code);
    sqlite3_close(handle_);
    throw Error(ErrorCode::Io, fmt::format("cannot open {}: {}", display_path(file_), text));
  }
  sqlite3_busy_timeout(handle_, kWaitMilliseconds);
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kMostBytes);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
}

SqliteReader::~SqliteReader() {
  sqlite3_close(handle_);
}

void SqliteReader::fail(int code) const {
  const bool damaged = code != SQLITE_BUSY && code != SQLITE_LOCKED && code != SQLITE_IOERR &&
                       code != SQLITE_CANTOPEN && code != SQLITE_PERM;
  throw Error(
      damaged ? ErrorCode::Corrupt : ErrorCode::Io,
      fmt::format("cannot read {}: {}", display_path(file_), printable(sqlite3_errmsg(handle_))));
}

void SqliteReader::for_each(const std::string& sql,
                            const std::function<void(const std::vector<std::string>&)>& take) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &raw, nullptr);
  const std::unique_ptr<sqlite3_stmt, StatementDeleter> statement(raw);
  if (code != SQLITE_OK) {
    fail(code);
  }
  std::vector<std::string> cells(static_cast<std::size_t>(sqlite3_column_count(raw)));
  while ((code = sqlite3_step(raw)) == SQLITE_ROW) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const int column = static_cast<int>(i);
      const void* bytes = sqlite3_column_blob(raw, column);
      const auto length = static_cast<std::size_t>(sqlite3_column_bytes(raw, column));
      cells[i] = bytes == nullptr ? "" : std::string(static_cast<const char*>(bytes), length);
    }
    take(cells);
  }
  if (code != SQLITE_DONE) {
    fail(code);
  }
}

}  // namespace tunebench::exchange
