#include "tunebench/expression/internal/row_query.h"

#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/expression/internal/functions.h"

namespace tunebench::expression {

/// The database of one thread; lives as long as the thread or an expression that was compiled
/// there.
class Connection {
 public:
  static std::shared_ptr<Connection> of_this_thread() {
    thread_local const std::shared_ptr<Connection> connection = std::make_shared<Connection>();
    return connection;
  }

  Connection() {
    // The mutex costs 20 ns a call, and lets an expression be moved to another thread.
    const int code = sqlite3_open_v2(
        ":memory:", &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_FULLMUTEX,
        nullptr);
    if (code != SQLITE_OK) {
      const std::string reason = sqlite3_errmsg(handle_);
      sqlite3_close(handle_);
      throw Error(ErrorCode::Io, "cannot open a database in memory: " + reason);
    }
    sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kLongestValue);
    sqlite3_limit(handle_, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kLongestPattern);
    sqlite3_limit(handle_, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(handle_, SQLITE_LIMIT_COMPOUND_SELECT, 1);
    sqlite3_set_authorizer(handle_, &Connection::authorize, nullptr);
  }
  ~Connection() { sqlite3_close(handle_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] sqlite3* handle() const { return handle_; }

 private:
  // Matching costs the product of the two: 20 million steps at most.
  static constexpr int kLongestValue = 100'000;
  static constexpr int kLongestPattern = 200;

  static int authorize(void* /*unused*/, int action, const char* /*unused*/, const char* name,
                       const char* /*unused*/, const char* /*unused*/) {
    if (action == SQLITE_SELECT) {
      return SQLITE_OK;
    }
    if (action != SQLITE_FUNCTION || name == nullptr) {
      return SQLITE_DENY;
    }
    const std::string function = lower_ascii(name);
    return function == "like" || find_function(function) != nullptr ? SQLITE_OK : SQLITE_DENY;
  }

  sqlite3* handle_ = nullptr;
};

RowQuery::RowQuery(std::string_view sql) : connection_(Connection::of_this_thread()) {
  const std::string select = fmt::format("SELECT {}", sql);
  const char* rest = nullptr;
  const int code = sqlite3_prepare_v2(connection_->handle(), select.data(),
                                      static_cast<int>(select.size()), &statement_, &rest);
  if (code != SQLITE_OK) {
    fail();
  }
  if (rest != select.data() + select.size()) {
    sqlite3_finalize(statement_);
    throw Error(ErrorCode::InvalidInput, "more than one expression");
  }
}

RowQuery::~RowQuery() {
  sqlite3_finalize(statement_);
}

void RowQuery::fail() const {
  throw Error(ErrorCode::InvalidInput, sqlite3_errmsg(connection_->handle()));
}

void RowQuery::bind(int place, const Json& value) const {
  int code = SQLITE_OK;
  switch (value.kind()) {
    case Json::Kind::Null:
      code = sqlite3_bind_null(statement_, place);
      break;
    case Json::Kind::Boolean:
      code = sqlite3_bind_int64(statement_, place, value.as_bool() ? 1 : 0);
      break;
    case Json::Kind::Integer:
      code = sqlite3_bind_int64(statement_, place, value.as_int());
      break;
    case Json::Kind::Real:
      code = sqlite3_bind_double(statement_, place, value.as_double());
      break;
    case Json::Kind::String: {
      const std::string& text = value.as_string();
      // The values outlive the step that reads them.
      code = sqlite3_bind_text64(statement_, place, text.data(), text.size(), SQLITE_STATIC,
                                 SQLITE_UTF8);
      break;
    }
    case Json::Kind::Array:
    case Json::Kind::Object: {
      const std::string text = value.dump();
      code = sqlite3_bind_text64(statement_, place, text.data(), text.size(),
                                 SQLITE_TRANSIENT,  // NOLINT: the macro's cast
                                 SQLITE_UTF8);
      break;
    }
  }
  if (code != SQLITE_OK) {
    fail();
  }
}

void RowQuery::run(std::span<const Json> values) const {
  sqlite3_reset(statement_);
  TB_CHECK(static_cast<int>(values.size()) == sqlite3_bind_parameter_count(statement_));
  for (std::size_t i = 0; i < values.size(); ++i) {
    bind(static_cast<int>(i) + 1, values[i]);
  }
  if (sqlite3_step(statement_) != SQLITE_ROW) {
    fail();
  }
}

Json RowQuery::evaluate(std::span<const Json> values) const {
  run(values);
  switch (sqlite3_column_type(statement_, 0)) {
    case SQLITE_INTEGER:
      return {static_cast<std::int64_t>(sqlite3_column_int64(statement_, 0))};
    case SQLITE_FLOAT:
      return {sqlite3_column_double(statement_, 0)};
    case SQLITE_TEXT: {
      const void* bytes = sqlite3_column_blob(statement_, 0);
      const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement_, 0));
      return {size == 0 ? std::string() : std::string(static_cast<const char*>(bytes), size)};
    }
    default:
      return nullptr;
  }
}

int RowQuery::truth(std::span<const Json> values) const {
  run(values);
  switch (sqlite3_column_type(statement_, 0)) {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(statement_, 0) != 0 ? 1 : 0;
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement_, 0) != 0 ? 1 : 0;
    case SQLITE_TEXT:
      return -1;
    default:
      return 0;
  }
}

}  // namespace tunebench::expression
