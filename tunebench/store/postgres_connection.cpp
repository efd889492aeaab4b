#include "tunebench/store/internal/postgres_connection.h"

#include <algorithm>
#include <charconv>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/store/internal/libpq.h"
#include "tunebench/store/internal/location.h"

namespace tunebench::store {
namespace {

constexpr std::chrono::milliseconds kBetweenTries{200};
/// Rows fetched at a time from a large result.
constexpr int kPiece = 1000;

/// The server is away or its answer to COMMIT was lost: worth another try.
struct LostError : Error {
  using Error::Error;
};

/// A client that is gone with its machine holds the writers' lock until the server notices; a
/// server that is gone is noticed by the client as soon.
const std::vector<std::string> kParameters{"application_name=tunebench", "connect_timeout=10",
                                           "keepalives_idle=10",         "keepalives_interval=5",
                                           "keepalives_count=3",         "tcp_user_timeout=30000",
                                           "client_encoding=UTF8"};
constexpr std::string_view kSessionSettings =
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3; "
    "SET idle_in_transaction_session_timeout = '60s'; SET default_transaction_isolation = "
    "'read committed'; SET lock_timeout = {}";

/// ? outside of quotes to $1, $2, ...
std::string with_numbers(std::string_view sql) {
  std::string text;
  int number = 0;
  char quote = 0;
  for (const char letter : sql) {
    if (quote == 0 && letter == '?') {
      text += fmt::format("${}", ++number);
      continue;
    }
    if (quote == 0 && (letter == '\'' || letter == '"')) {
      quote = letter;
    } else if (letter == quote) {
      quote = 0;
    }
    text += letter;
  }
  return text;
}

/// One parameter as text; nullopt for NULL.
std::optional<std::string> parameter(const Value& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*number);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return fmt::format("{}", *real);  // shortest that reads back
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return storable_text(*text);
  }
  return std::nullopt;
}

/// One line of what the server or its client library said, without a password.
std::string reason_of(const ServerError& error) {
  std::vector<std::string> lines;
  for (const std::string& line : split(error.message, '\n')) {
    if (!trim(line).empty()) {
      lines.emplace_back(trim(line));
    }
  }
  return mask_secrets(printable(join(lines, "; ")));
}

/// Throws what an error of the server means.
[[noreturn]] void fail(const ServerError& error, const std::string& location,
                       std::chrono::milliseconds wait) {
  const std::string reason = reason_of(error);
  const std::string& state = error.state;
  if (error.lost || state.starts_with("57P") || state.starts_with("08")) {
    throw LostError(ErrorCode::Io, fmt::format("cannot reach {}: {}", location, reason));
  }
  if (state == "55P03") {
    throw Error(ErrorCode::Io,
                fmt::format("{} stayed locked by another process for {}", location,
                            format_duration(static_cast<double>(wait.count()) / 1000.0)));
  }
  if (state == "53100") {
    throw Error(ErrorCode::Io,
                fmt::format("cannot write {}: no space left on the server; free some "
                            "and try again",
                            location));
  }
  if (state == "42501" || state == "25006") {
    throw Error(ErrorCode::Io, fmt::format("cannot write {}: {}", location, reason));
  }
  throw Error(state.starts_with("XX") ? ErrorCode::Corrupt : ErrorCode::Io,
              fmt::format("{}: {}", location, reason));
}

}  // namespace

struct PostgresConnection::Session {
  explicit Session(const std::string& url) : server(with_parameters(url, kParameters)) {}

  void set_up(std::chrono::milliseconds wait) {
    static_cast<void>(server.execute(fmt::format(kSessionSettings, wait.count())));
    // A schema of our own, unless the URL or the administrator names one.
    const std::string source =
        server.execute("SELECT source FROM pg_settings WHERE name = 'search_path'").text(0, 0);
    if (source == "default" || source == "configuration file") {
      static_cast<void>(server.execute("SET search_path = tunebench"));
    }
  }

  const std::string& prepared(std::string_view sql) {
    auto found = names.find(sql);
    if (found == names.end()) {
      found = names.emplace(std::string(sql), fmt::format("s{}", names.size())).first;
      server.prepare(found->second, with_numbers(sql));
    }
    return found->second;
  }

  PqSession server;
  bool in_transaction = false;
  std::map<std::string, std::string, std::less<>> names;
};

/// All rows of a result, which is in memory.
class PostgresConnection::Buffered final : public Rows {
 public:
  explicit Buffered(PqResult result) : result_(std::move(result)), rows_(result_.rows()) {}

  bool step() override { return ++row_ < rows_; }
  [[nodiscard]] bool is_null(int column) const override { return result_.is_null(row_, column); }
  [[nodiscard]] std::string text(int column) const override {
    return result_.text(row_, column);  // of NULL "", as libpq has it
  }
  [[nodiscard]] std::int64_t integer(int column) const override {
    return parse_int(text(column)).value_or(0);
  }
  [[nodiscard]] double real(int column) const override {
    double value = 0;  // stays for NULL
    const std::string number = text(column);
    std::from_chars(number.data(), number.data() + number.size(), value);
    return value;
  }

 private:
  PqResult result_;
  int rows_;
  int row_ = -1;
};

PostgresConnection::PostgresConnection(std::string url, std::chrono::milliseconds wait)
    : url_(std::move(url)), wait_(wait) {
  try {
    session_ = std::make_unique<Session>(url_);
    session_->set_up(wait_);
  } catch (const ServerError& error) {
    throw Error(ErrorCode::Io, fmt::format("cannot open {}: {}", location(), reason_of(error)));
  }
}

PostgresConnection::~PostgresConnection() = default;

std::string PostgresConnection::location() const {
  return shown_location(url_);
}

void PostgresConnection::with_session(const std::function<void(Session&)>& body) {
  const auto deadline = std::chrono::steady_clock::now() + wait_;
  while (true) {
    const bool in_transaction = session_ != nullptr && session_->in_transaction;
    try {
      try {
        if (!session_) {
          auto session = std::make_unique<Session>(url_);
          session->set_up(wait_);
          session_ = std::move(session);
        }
        body(*session_);
        return;
      } catch (const ServerError& error) {
        fail(error, location(), wait_);
      }
    } catch (const LostError&) {
      if (in_transaction) {
        throw;
      }
      session_.reset();
      if (std::chrono::steady_clock::now() >= deadline) {
        throw;
      }
    }
    std::this_thread::sleep_for(std::min(kBetweenTries, wait_));
  }
}

PqResult PostgresConnection::run(std::string_view sql, const Values& values) {
  std::vector<std::optional<std::string>> texts;
  for (const Value& value : values) {
    texts.push_back(parameter(value));
  }
  std::optional<PqResult> result;
  with_session([&](Session& session) {
    result = session.server.execute_prepared(session.prepared(sql), texts);
  });
  return *std::move(result);
}

std::unique_ptr<Rows> PostgresConnection::query(std::string_view sql, const Values& values) {
  return std::make_unique<Buffered>(run(sql, values));
}

std::int64_t PostgresConnection::execute(std::string_view sql, const Values& values) {
  return run(sql, values).affected();
}

void PostgresConnection::script(const std::string& sql) {
  with_session([&](Session& session) { static_cast<void>(session.server.execute(sql)); });
}

void PostgresConnection::begin(const std::string& first, const std::function<void()>& body) {
  with_session([&](Session& session) {
    static_cast<void>(session.server.execute("BEGIN; " + first));
    session.in_transaction = true;
    try {
      body();
    } catch (...) {
      session.in_transaction = false;
      try {
        static_cast<void>(session.server.execute("ROLLBACK"));
      } catch (const ServerError&) {
        // The connection is gone, and with it the transaction.
      }
      throw;
    }
    session.in_transaction = false;
    static_cast<void>(session.server.execute("COMMIT"));
  });
}

void PostgresConnection::transaction(const std::function<void()>& body, Durability durability) {
  begin(durability == Durability::Full
            ? "SET LOCAL synchronous_commit = on; LOCK TABLE store IN EXCLUSIVE MODE"
            : "SET LOCAL synchronous_commit = off; LOCK TABLE store IN EXCLUSIVE MODE",
        body);
}

void PostgresConnection::make(const std::function<void()>& body) {
  // Any number will do, as long as nobody else takes it: "tune".
  begin("SELECT pg_advisory_xact_lock(1953853029)", [&] {
    const std::string schema = query_text(
        "SELECT trim(both '\"' from trim(split_part(current_setting('search_path'), "
        "',', 1)))");
    if (schema != "$user" && !has("SELECT 1 FROM pg_namespace WHERE nspname = ?", {schema})) {
      script(fmt::format("CREATE SCHEMA {}", session_->server.quoted_name(schema)));
    }
    body();
  });
}

void PostgresConnection::for_each(std::string_view sql, const Values& values,
                                  const std::function<void(const Rows&)>& take) {
  const auto read = [&] {
    execute(fmt::format("DECLARE piece NO SCROLL CURSOR FOR {}", sql), values);
    while (true) {
      PqResult rows = run(fmt::format("FETCH {} FROM piece", kPiece), {});
      const bool is_last = rows.rows() < kPiece;
      Buffered buffered(std::move(rows));
      while (buffered.step()) {
        take(buffered);
      }
      if (is_last) {
        execute("CLOSE piece");
        return;
      }
    }
  };
  if (session_ != nullptr && session_->in_transaction) {
    read();
    return;
  }
  // Rows that were taken cannot be taken back: what is lost in the middle is an error.
  bool begun = false;
  begin("SET TRANSACTION READ ONLY", [&] {
    if (begun) {
      throw Error(ErrorCode::Io,
                  fmt::format("the connection to {} was lost while reading", location()));
    }
    begun = true;
    read();
  });
}

const Dialect& PostgresConnection::dialect() const {
  static constexpr Dialect kPostgres{
      .name = "postgresql",
      .number_key = "BIGINT GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY",
      .integer = "BIGINT",
      .real = "DOUBLE PRECISION",
      .now = "CAST(floor(extract(epoch FROM clock_timestamp())) AS BIGINT)",
      .columns =
          "SELECT column_name FROM information_schema.columns "
          "WHERE table_schema = current_schema() AND table_name = ?"};
  return kPostgres;
}

}  // namespace tunebench::store
