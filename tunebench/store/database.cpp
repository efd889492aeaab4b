#include "tunebench/store/internal/database.h"

#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/store/store.h"

namespace tunebench::store {
namespace {

constexpr std::chrono::milliseconds kPause{5};

/// Another process is in the way: worth trying again.
struct BusyError : Error {
  using Error::Error;
};

std::string system_reason(sqlite3* handle) {
  const int number = sqlite3_system_errno(handle);
  return number != 0 ? std::string(std::strerror(number)) : std::string(sqlite3_errmsg(handle));
}

/// Why a file cannot be opened. SQLite tries several ways and keeps the reason of the last only.
std::string open_reason(const std::filesystem::path& file, sqlite3* handle) {
  std::error_code failure;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const bool can_open = std::filesystem::exists(file, failure)
                            ? access(file.c_str(), R_OK) == 0
                            : access(folder.c_str(), W_OK | X_OK) == 0;
  return can_open ? system_reason(handle) : std::strerror(errno);
}

/// file:... with what would be read as options or hex digits escaped.
std::string immutable_uri(const std::filesystem::path& file) {
  std::string uri = "file:";
  for (const char letter : std::filesystem::absolute(file).string()) {
    if (letter == '%' || letter == '?' || letter == '#') {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(letter));
    } else {
      uri += letter;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

Statement::Statement(const Database& database, std::string_view sql) : database_(database) {
  const int code = sqlite3_prepare_v2(database.handle(), sql.data(), static_cast<int>(sql.size()),
                                      &statement_, nullptr);
  if (code != SQLITE_OK) {
    database.fail(code);
  }
}

Statement::~Statement() {
  sqlite3_finalize(statement_);
}

Statement& Statement::bind(int place, std::string_view text) {
  // SQLite keeps no copy of the pointer's target beyond this call (SQLITE_TRANSIENT).
  const int code = sqlite3_bind_text64(statement_, place + 1, text.data(), text.size(),
                                       SQLITE_TRANSIENT, SQLITE_UTF8);  // NOLINT: macro's cast
  if (code != SQLITE_OK) {
    database_.fail(code);
  }
  return *this;
}

Statement& Statement::bind(int place, std::int64_t number) {
  if (const int code = sqlite3_bind_int64(statement_, place + 1, number); code != SQLITE_OK) {
    database_.fail(code);
  }
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) {
    database_.fail(code);
  }
  return code == SQLITE_ROW;
}

void Statement::run() {
  while (step()) {
  }
}

std::string Statement::text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr
             ? ""
             : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

Database::Database(std::filesystem::path file, Access access, std::chrono::milliseconds wait)
    : file_(std::move(file)), wait_(wait) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  std::string name = file_.string();
  if (access == Access::Write) {
    flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  } else {
    flags |= SQLITE_OPEN_READONLY;
  }
  if (access == Access::ReadImmutable) {
    flags |= SQLITE_OPEN_URI;
    name = immutable_uri(file_);
  }
  try {
    const int code = sqlite3_open_v2(name.c_str(), &handle_, flags, nullptr);
    if (code != SQLITE_OK) {
      fail(code);
    }
    sqlite3_busy_timeout(handle_, static_cast<int>(wait.count()));
    // SQLite opens a file that it may not write for reading, without a word.
    if (access == Access::Write && sqlite3_db_readonly(handle_, "main") == 1) {
      fail(SQLITE_READONLY);
    }
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Database::~Database() {
  sqlite3_close(handle_);
}

void Database::execute(const char* sql) const {
  if (const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr); code != SQLITE_OK) {
    fail(code);
  }
}

std::int64_t Database::query_integer(std::string_view sql) const {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

std::string Database::query_text(std::string_view sql) const {
  Statement statement(*this, sql);
  return statement.step() ? statement.text(0) : "";
}

void Database::transaction(const std::function<void()>& body) const {
  retry_while_busy([&] {
    execute("BEGIN IMMEDIATE");
    try {
      body();
      execute("COMMIT");
    } catch (...) {
      // Some failures have ended the transaction already; then there is nothing to roll back.
      if (sqlite3_get_autocommit(handle_) == 0) {
        sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
      }
      throw;
    }
  });
}

void Database::retry_while_busy(const std::function<void()>& body) const {
  const auto deadline = std::chrono::steady_clock::now() + wait_;
  while (true) {
    try {
      body();
      return;
    } catch (const BusyError&) {
      if (std::chrono::steady_clock::now() >= deadline) {
        throw;
      }
    }
    std::this_thread::sleep_for(kPause);
  }
}

void Database::fail(int code) const {
  const std::string name = display_path(file_);
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      throw BusyError(ErrorCode::Io,
                      fmt::format("{} stayed locked by another process for {}", name,
                                  format_duration(static_cast<double>(wait_.count()) / 1000.0)));
    case SQLITE_FULL:
      throw Error(ErrorCode::Io,
                  fmt::format("cannot write {}: no space left; free some and try again", name));
    case SQLITE_READONLY:
      throw Error(ErrorCode::Io,
                  fmt::format("cannot write {}: it or its folder is read-only", name));
    case SQLITE_NOTADB:
      throw Error(ErrorCode::Corrupt,
                  fmt::format("{} is not a store of tunebench: not an SQLite file", name));
    case SQLITE_CORRUPT:
      throw Error(ErrorCode::Corrupt,
                  fmt::format("{} is damaged: {}; save what is left with `sqlite3 {} .recover`",
                              name, sqlite3_errmsg(handle_), name));
    case SQLITE_CANTOPEN:
      throw Error(ErrorCode::Io,
                  fmt::format("cannot open {}: {}", name, open_reason(file_, handle_)));
    case SQLITE_IOERR:
      throw Error(ErrorCode::Io,
                  fmt::format("cannot read or write {}: {}", name, system_reason(handle_)));
    default:
      throw Error(ErrorCode::Io, fmt::format("{}: {}", name, sqlite3_errmsg(handle_)));
  }
}

std::string sqlite_version() {
  return sqlite3_libversion();
}

}  // namespace tunebench::store
