#include "tunebench/store/internal/sqlite_connection.h"

#include <algorithm>
#include <array>
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
#include "tunebench/expression/expression.h"
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

int authorize_reading(void* /*unused*/, int action, const char* first, const char* second,
                      const char* /*unused*/, const char* /*unused*/) {
  constexpr std::array<std::string_view, 5> kReadable{"value", "record", "run", "run_record",
                                                      "environment"};
  const std::string_view name = first == nullptr ? "" : first;
  if (action == SQLITE_SELECT ||
      (action == SQLITE_READ && std::ranges::find(kReadable, name) != kReadable.end())) {
    return SQLITE_OK;
  }
  if (action != SQLITE_FUNCTION || second == nullptr) {
    return SQLITE_DENY;
  }
  const std::string function = lower_ascii(second);
  const std::vector<std::string>& allowed = expression::function_names();
  return function == "like" || function == "typeof" ||
                 std::ranges::find(allowed, function) != allowed.end()
             ? SQLITE_OK
             : SQLITE_DENY;
}

class EndOfScope {
 public:
  explicit EndOfScope(std::function<void()> body) : body_(std::move(body)) {}
  ~EndOfScope() { body_(); }
  EndOfScope(const EndOfScope&) = delete;
  EndOfScope& operator=(const EndOfScope&) = delete;

 private:
  std::function<void()> body_;
};

/// As expressions have it: matching costs the product of pattern and value.
constexpr int kLongestPattern = 200;

/// Statements kept prepared; those that a scan makes are each of their own.
constexpr std::size_t kMostIdle = 64;

void bind_value(sqlite3_stmt* statement, int place, const Value& value, int& code) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    code = sqlite3_bind_int64(statement, place, *number);
  } else if (const auto* real = std::get_if<double>(&value)) {
    code = sqlite3_bind_double(statement, place, *real);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    // A copy is made (SQLITE_TRANSIENT): rows may be read after the values are gone.
    code = sqlite3_bind_text64(statement, place, text->data(), text->size(), SQLITE_TRANSIENT,
                               SQLITE_UTF8);  // NOLINT: macro's cast
  } else {
    code = sqlite3_bind_null(statement, place);
  }
}

}  // namespace

class SqliteConnection::Cursor final : public Rows {
 public:
  Cursor(SqliteConnection& connection, std::string_view sql, const Values& values)
      : connection_(connection), statement_(connection.prepare(sql)) {
    int place = 0;
    int code = SQLITE_OK;
    for (const Value& value : values) {
      bind_value(statement_, ++place, value, code);
      if (code != SQLITE_OK) {
        connection_.give_back(statement_);
        connection_.fail(code);
      }
    }
  }
  ~Cursor() override { connection_.give_back(statement_); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  bool step() override {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) {
      connection_.fail(code);
    }
    return code == SQLITE_ROW;
  }
  [[nodiscard]] bool is_null(int column) const override {
    return sqlite3_column_type(statement_, column) == SQLITE_NULL;
  }
  [[nodiscard]] std::string text(int column) const override {
    const void* bytes = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr
               ? ""
               : std::string(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
  [[nodiscard]] std::int64_t integer(int column) const override {
    return sqlite3_column_int64(statement_, column);
  }
  [[nodiscard]] double real(int column) const override {
    return sqlite3_column_double(statement_, column);
  }

 private:
  SqliteConnection& connection_;
  sqlite3_stmt* statement_;
};

SqliteConnection::SqliteConnection(std::filesystem::path file, Access access,
                                   std::chrono::milliseconds wait)
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
    sqlite3_limit(handle_, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kLongestPattern);
    // SQLite opens a file that it may not write for reading, without a word.
    if (access == Access::Write && sqlite3_db_readonly(handle_, "main") == 1) {
      fail(SQLITE_READONLY);
    }
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

SqliteConnection::SqliteConnection(const SqliteConnection& source, std::nullptr_t)
    : file_(source.file_), wait_(source.wait_) {
  try {
    // An empty name is a database of its own in a file that nobody else sees.
    int code = sqlite3_open_v2(
        "", &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
    if (code != SQLITE_OK) {
      fail(code);
    }
    sqlite3_backup* backup = sqlite3_backup_init(handle_, "main", source.handle_, "main");
    code = backup == nullptr ? sqlite3_extended_errcode(handle_) : sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
    if (code != SQLITE_DONE) {
      source.fail(code);
    }
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

std::unique_ptr<SqliteConnection> SqliteConnection::copy_of(const SqliteConnection& source) {
  return std::unique_ptr<SqliteConnection>(new SqliteConnection(source, nullptr));
}

SqliteConnection::~SqliteConnection() {
  for (const auto& [sql, statement] : idle_) {
    sqlite3_finalize(statement);
  }
  sqlite3_close(handle_);
}

sqlite3_stmt* SqliteConnection::prepare(std::string_view sql) {
  if (const auto found = idle_.find(sql); found != idle_.end()) {
    sqlite3_stmt* statement = found->second;
    idle_.erase(found);
    return statement;
  }
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v2(handle_, sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  if (code != SQLITE_OK) {
    fail(code);
  }
  return statement;
}

void SqliteConnection::give_back(sqlite3_stmt* statement) noexcept {
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
  if (idle_.size() < kMostIdle && idle_.emplace(sqlite3_sql(statement), statement).second) {
    return;
  }
  sqlite3_finalize(statement);
}

std::unique_ptr<Rows> SqliteConnection::query(std::string_view sql, const Values& values) {
  return std::make_unique<Cursor>(*this, sql, values);
}

void SqliteConnection::for_each(std::string_view sql, const Values& values,
                                const std::function<void(const Rows&)>& take) {
  Cursor rows = [&] {
    // A condition of a user's may be part of it: nothing but reading tables of ours.
    sqlite3_set_authorizer(handle_, &authorize_reading, nullptr);
    const EndOfScope unguard([this] { sqlite3_set_authorizer(handle_, nullptr, nullptr); });
    return Cursor(*this, sql, values);
  }();
  while (rows.step()) {
    take(rows);
  }
}

std::int64_t SqliteConnection::execute(std::string_view sql, const Values& values) {
  Cursor rows(*this, sql, values);
  while (rows.step()) {
  }
  return sqlite3_changes64(handle_);
}

void SqliteConnection::script(const std::string& sql) {
  if (const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
      code != SQLITE_OK) {
    fail(code);
  }
}

void SqliteConnection::set_durability(Durability durability) {
  if (durability != durability_) {
    // Each commit of FULL syncs the log; NORMAL leaves that to the next one that does.
    script(durability == Durability::Full ? "PRAGMA synchronous = FULL"
                                          : "PRAGMA synchronous = NORMAL");
    durability_ = durability;
  }
}

void SqliteConnection::transaction(const std::function<void()>& body, Durability durability) {
  retry_while_busy([&] {
    set_durability(durability);
    script("BEGIN IMMEDIATE");
    try {
      body();
      script("COMMIT");
    } catch (...) {
      // Some failures have ended the transaction already; then there is nothing to roll back.
      if (sqlite3_get_autocommit(handle_) == 0) {
        sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
      }
      throw;
    }
  });
}

const Dialect& SqliteConnection::dialect() const {
  static constexpr Dialect kSqlite{.name = "sqlite",
                                   .number_key = "INTEGER PRIMARY KEY AUTOINCREMENT",
                                   .integer = "INTEGER",
                                   .real = "REAL",
                                   .now = "CAST(strftime('%s', 'now') AS INTEGER)",
                                   .columns = "SELECT name FROM pragma_table_info(?)"};
  return kSqlite;
}

std::string SqliteConnection::location() const {
  return display_path(file_);
}

void SqliteConnection::retry_while_busy(const std::function<void()>& body) const {
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

void SqliteConnection::fail(int code) const {
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
