#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

// The types of the client library, for decltype only: it is loaded when a server is asked for.
#include <libpq-fe.h>

namespace tunebench::store {

/// What the server or its client library said of a statement that failed.
struct ServerError {
  std::string state;    ///< five letters; empty when it was not the server that spoke
  std::string message;  ///< may have several lines
  bool lost = false;    ///< the connection is gone
};

/// The functions of libpq that are used. Loaded once and kept: with its twenty libraries of
/// directories and tickets it costs every start of the program 4 ms, of which most have no server.
struct Libpq {
#define TB_LIBPQ_FUNCTION(name) decltype(&::name) name
  TB_LIBPQ_FUNCTION(PQclear);
  TB_LIBPQ_FUNCTION(PQcmdTuples);
  TB_LIBPQ_FUNCTION(PQconnectdb);
  TB_LIBPQ_FUNCTION(PQerrorMessage);
  TB_LIBPQ_FUNCTION(PQescapeIdentifier);
  TB_LIBPQ_FUNCTION(PQexec);
  TB_LIBPQ_FUNCTION(PQexecPrepared);
  TB_LIBPQ_FUNCTION(PQfinish);
  TB_LIBPQ_FUNCTION(PQfreemem);
  TB_LIBPQ_FUNCTION(PQgetisnull);
  TB_LIBPQ_FUNCTION(PQgetlength);
  TB_LIBPQ_FUNCTION(PQgetvalue);
  TB_LIBPQ_FUNCTION(PQntuples);
  TB_LIBPQ_FUNCTION(PQprepare);
  TB_LIBPQ_FUNCTION(PQresultErrorField);
  TB_LIBPQ_FUNCTION(PQresultStatus);
  TB_LIBPQ_FUNCTION(PQsetNoticeProcessor);
  TB_LIBPQ_FUNCTION(PQstatus);
#undef TB_LIBPQ_FUNCTION
  /// Errors: Unsupported with the package to install when the library is not there. Thread-safe.
  static const Libpq& loaded();
};

/// The rows of one statement, in memory.
class PqResult {
 public:
  explicit PqResult(PGresult* result) : result_(result, Libpq::loaded().PQclear) {}
  [[nodiscard]] int rows() const;
  [[nodiscard]] bool is_null(int row, int column) const;
  [[nodiscard]] std::string text(int row, int column) const;
  /// Rows inserted, changed or deleted.
  [[nodiscard]] std::int64_t affected() const;

 private:
  std::shared_ptr<PGresult> result_;
};

/// An open connection. Errors of all members: ServerError. Not thread-safe.
class PqSession {
 public:
  explicit PqSession(const std::string& url);

  [[nodiscard]] PqResult execute(const std::string& sql);
  void prepare(const std::string& name, const std::string& sql);
  [[nodiscard]] PqResult execute_prepared(const std::string& name,
                                          const std::vector<std::optional<std::string>>& values);
  /// A name as it must stand in SQL.
  [[nodiscard]] std::string quoted_name(const std::string& name) const;

 private:
  [[nodiscard]] ServerError error_of(const PGresult* result) const;
  [[nodiscard]] PqResult checked(PGresult* result) const;

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

}  // namespace tunebench::store
