#include "tunebench/store/internal/postgres_connection.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <pqxx/pqxx>

#include "tunebench/base/error.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
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
std::string reason_of(const std::exception& error) {
  std::vector<std::string> lines;
  for (const std::string& line : split(error.what(), '\n')) {
    if (!trim(line).empty()) {
      lines.emplace_back(trim(line));
    }
  }
  std::string reason = mask_secrets(printable(join(lines, "; ")));
  for (const std::string_view prefix : {"ERROR:", "FATAL:"}) {
    if (reason.starts_with(prefix)) {
      reason = trim(std::string_view(reason).substr(prefix.size()));
    }
  }
  return reason;
}

/// Throws what an error of the client library means.
[[noreturn]] void fail(const std::exception& error, bool is_open, const std::string& location,
                       std::chrono::milliseconds wait) {
  const std::string reason = reason_of(error);
  const auto* sql = dynamic_cast<const pqxx::sql_error*>(&error);
  const std::string state = sql == nullptr ? "" : sql->sqlstate();
  const bool lost = !is_open || dynamic_cast<const pqxx::broken_connection*>(&error) != nullptr ||
                    dynamic_cast<const pqxx::in_doubt_error*>(&error) != nullptr ||
                    state.starts_with("57P") || state.starts_with("08");
  if (lost) {
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
  explicit Session(const std::string& url) : connection(with_parameters(url, kParameters)) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    // A connection that the library makes again in silence would lose what `set_up` says.
    connection.inhibit_reactivation(true);
#pragma GCC diagnostic pop
  }

  void set_up(std::chrono::milliseconds wait) {
    pqxx::nontransaction work(connection);
    work.exec(fmt::format(kSessionSettings, wait.count()));
    // A schema of our own, unless the URL or the administrator names one.
    const std::string source =
        work.exec1("SELECT source FROM pg_settings WHERE name = 'search_path'")[0]
            .as<std::string>();
    if (source == "default" || source == "configuration file") {
      work.exec("SET search_path = tunebench");
    }
  }

  const std::string& prepared(std::string_view sql) {
    auto found = names.find(sql);
    if (found == names.end()) {
      found = names.emplace(std::string(sql), fmt::format("s{}", names.size())).first;
      connection.prepare(found->second, with_numbers(sql));
    }
    return found->second;
  }

  pqxx::connection connection;
  pqxx::transaction_base* open = nullptr;  ///< the transaction under way
  std::map<std::string, std::string, std::less<>> names;
};

struct PostgresConnection::Result {
  pqxx::result rows;
};

/// All rows of a result, which is in memory.
class PostgresConnection::Buffered final : public Rows {
 public:
  explicit Buffered(pqxx::result result) : result_(std::move(result)) {}

  bool step() override { return ++row_ < static_cast<int>(result_.size()); }
  [[nodiscard]] bool is_null(int column) const override { return field(column).is_null(); }
  [[nodiscard]] std::string text(int column) const override {
    const pqxx::field value = field(column);
    return value.is_null() ? "" : std::string(value.c_str(), value.size());
  }
  [[nodiscard]] std::int64_t integer(int column) const override {
    return is_null(column) ? 0 : parse_int(text(column)).value_or(0);
  }
  [[nodiscard]] double real(int column) const override {
    return is_null(column) ? 0 : field(column).as<double>();
  }

 private:
  [[nodiscard]] pqxx::field field(int column) const {
    return result_[static_cast<pqxx::result::size_type>(row_)]
                  [static_cast<pqxx::row::size_type>(column)];
  }

  pqxx::result result_;
  int row_ = -1;
};

PostgresConnection::PostgresConnection(std::string url, std::chrono::milliseconds wait)
    : url_(std::move(url)), wait_(wait) {
  try {
    session_ = std::make_unique<Session>(url_);
    session_->set_up(wait_);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
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
    const bool in_transaction = session_ != nullptr && session_->open != nullptr;
    try {
      try {
        if (!session_) {
          auto session = std::make_unique<Session>(url_);
          session->set_up(wait_);
          session_ = std::move(session);
        }
        body(*session_);
        return;
      } catch (const Error&) {
        throw;
      } catch (const std::exception& error) {
        fail(error, session_ != nullptr && session_->connection.is_open(), location(), wait_);
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

std::shared_ptr<PostgresConnection::Result> PostgresConnection::run(std::string_view sql,
                                                                    const Values& values) {
  std::vector<std::optional<std::string>> texts;
  std::vector<const char*> places;
  for (const Value& value : values) {
    texts.push_back(parameter(value));
  }
  for (const std::optional<std::string>& text : texts) {
    places.push_back(text ? text->c_str() : nullptr);
  }
  auto result = std::make_shared<Result>();
  with_session([&](Session& session) {
    const std::string& name = session.prepared(sql);
    const auto parameters = pqxx::prepare::make_dynamic_params(places);
    if (session.open != nullptr) {
      result->rows = session.open->exec_prepared(name, parameters);
    } else {
      pqxx::nontransaction work(session.connection);
      result->rows = work.exec_prepared(name, parameters);
    }
  });
  return result;
}

std::unique_ptr<Rows> PostgresConnection::query(std::string_view sql, const Values& values) {
  return std::make_unique<Buffered>(run(sql, values)->rows);
}

std::int64_t PostgresConnection::execute(std::string_view sql, const Values& values) {
  return static_cast<std::int64_t>(run(sql, values)->rows.affected_rows());
}

void PostgresConnection::script(const std::string& sql) {
  with_session([&](Session& session) {
    if (session.open != nullptr) {
      session.open->exec(sql);
    } else {
      pqxx::nontransaction work(session.connection);
      work.exec(sql);
    }
  });
}

void PostgresConnection::begin(const std::string& first, const std::function<void()>& body) {
  with_session([&](Session& session) {
    pqxx::work work(session.connection);
    work.exec(first);
    session.open = &work;
    try {
      body();
    } catch (...) {
      session.open = nullptr;
      throw;
    }
    session.open = nullptr;
    work.commit();
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
      script(fmt::format("CREATE SCHEMA {}", session_->connection.quote_name(schema)));
    }
    body();
  });
}

void PostgresConnection::for_each(std::string_view sql, const Values& values,
                                  const std::function<void(const Rows&)>& take) {
  const auto read = [&] {
    execute(fmt::format("DECLARE piece NO SCROLL CURSOR FOR {}", sql), values);
    while (true) {
      const std::shared_ptr<Result> rows = run(fmt::format("FETCH {} FROM piece", kPiece), {});
      Buffered buffered(rows->rows);
      while (buffered.step()) {
        take(buffered);
      }
      if (static_cast<int>(rows->rows.size()) < kPiece) {
        execute("CLOSE piece");
        return;
      }
    }
  };
  if (session_ != nullptr && session_->open != nullptr) {
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
