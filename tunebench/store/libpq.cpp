#include "tunebench/store/internal/libpq.h"

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/shared_library.h"
#include "tunebench/base/text.h"

namespace tunebench::store {
namespace {

Libpq load() {
  const SharedLibrary library("libpq.so.5", "a PostgreSQL store needs PostgreSQL's client library",
                              "libpq5");
  Libpq api{};
#define TB_LOAD(name) library.load(#name, api.name)
  TB_LOAD(PQclear);
  TB_LOAD(PQcmdTuples);
  TB_LOAD(PQconnectdb);
  TB_LOAD(PQerrorMessage);
  TB_LOAD(PQescapeIdentifier);
  TB_LOAD(PQexec);
  TB_LOAD(PQexecPrepared);
  TB_LOAD(PQfinish);
  TB_LOAD(PQfreemem);
  TB_LOAD(PQgetisnull);
  TB_LOAD(PQgetlength);
  TB_LOAD(PQgetvalue);
  TB_LOAD(PQntuples);
  TB_LOAD(PQprepare);
  TB_LOAD(PQresultErrorField);
  TB_LOAD(PQresultStatus);
  TB_LOAD(PQsetNoticeProcessor);
  TB_LOAD(PQstatus);
#undef TB_LOAD
  return api;
}

/// Notices ("relation exists already, skipping") would go to standard error.
void ignore_notice(void* /*unused*/, const char* /*text*/) {}

}  // namespace

const Libpq& Libpq::loaded() {
  static const Libpq api = load();
  return api;
}

int PqResult::rows() const {
  return Libpq::loaded().PQntuples(result_.get());
}

bool PqResult::is_null(int row, int column) const {
  return Libpq::loaded().PQgetisnull(result_.get(), row, column) != 0;
}

std::string PqResult::text(int row, int column) const {
  const Libpq& api = Libpq::loaded();
  return {api.PQgetvalue(result_.get(), row, column),
          static_cast<std::size_t>(api.PQgetlength(result_.get(), row, column))};
}

std::int64_t PqResult::affected() const {
  return parse_int(Libpq::loaded().PQcmdTuples(result_.get())).value_or(0);
}

PqSession::PqSession(const std::string& url)
    : connection_(Libpq::loaded().PQconnectdb(url.c_str()), Libpq::loaded().PQfinish) {
  const Libpq& api = Libpq::loaded();
  if (api.PQstatus(connection_.get()) != CONNECTION_OK) {
    throw ServerError{.message = api.PQerrorMessage(connection_.get()), .lost = true};
  }
  api.PQsetNoticeProcessor(connection_.get(), ignore_notice, nullptr);
}

ServerError PqSession::error_of(const PGresult* result) const {
  const Libpq& api = Libpq::loaded();
  const char* state = api.PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* primary = api.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  ServerError error;
  error.state = state == nullptr ? "" : state;
  error.message = primary != nullptr ? primary : api.PQerrorMessage(connection_.get());
  error.lost = api.PQstatus(connection_.get()) != CONNECTION_OK;
  return error;
}

PqResult PqSession::checked(PGresult* result) const {
  const Libpq& api = Libpq::loaded();
  PqResult owned(result);
  const ExecStatusType status = api.PQresultStatus(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_EMPTY_QUERY) {
    throw error_of(result);
  }
  return owned;
}

PqResult PqSession::execute(const std::string& sql) {
  return checked(Libpq::loaded().PQexec(connection_.get(), sql.c_str()));
}

void PqSession::prepare(const std::string& name, const std::string& sql) {
  static_cast<void>(
      checked(Libpq::loaded().PQprepare(connection_.get(), name.c_str(), sql.c_str(), 0, nullptr)));
}

PqResult PqSession::execute_prepared(const std::string& name,
                                     const std::vector<std::optional<std::string>>& values) {
  std::vector<const char*> places;
  for (const std::optional<std::string>& value : values) {
    places.push_back(value ? value->c_str() : nullptr);
  }
  return checked(Libpq::loaded().PQexecPrepared(connection_.get(), name.c_str(),
                                                static_cast<int>(places.size()), places.data(),
                                                nullptr, nullptr, 0));
}

std::string PqSession::quoted_name(const std::string& name) const {
  const Libpq& api = Libpq::loaded();
  const std::unique_ptr<char, void (*)(void*)> quoted(
      api.PQescapeIdentifier(connection_.get(), name.c_str(), name.size()), api.PQfreemem);
  if (quoted == nullptr) {
    throw ServerError{.message = api.PQerrorMessage(connection_.get())};
  }
  return quoted.get();
}

}  // namespace tunebench::store
