#pragma once

#include <chrono>
#include <memory>

#include "tunebench/store/internal/connection.h"

namespace tunebench::store {

class PqResult;

/// A connection to a PostgreSQL server. One that is lost is made again, and what was under way is
/// done again, until the wait is over.
///
/// Writers take turns: each transaction first locks the table `store`, in a mode that readers do
/// not mind. Compared with SERIALIZABLE and its retries, nothing is ever done twice for another's
/// sake, the longest wait is known, and numbers are given in the order in which others see the
/// rows, as in SQLite, so that one code is right on both. What that costs, writing side by side,
/// does not matter to processes that measure for seconds between writes of milliseconds.
class PostgresConnection final : public Connection {
 public:
  /// Connects once; does not wait for a server that is not there.
  PostgresConnection(std::string url, std::chrono::milliseconds wait);
  ~PostgresConnection() override;

  std::unique_ptr<Rows> query(std::string_view sql, const Values& values = {}) override;
  void for_each(std::string_view sql, const Values& values,
                const std::function<void(const Rows&)>& take) override;
  std::int64_t execute(std::string_view sql, const Values& values = {}) override;
  void script(const std::string& sql) override;
  void transaction(const std::function<void()>& body,
                   Durability durability = Durability::Full) override;
  [[nodiscard]] const Dialect& dialect() const override;
  [[nodiscard]] std::string location() const override;

  /// As transaction, while there is no table `store` yet: only others that use this too wait.
  void make(const std::function<void()>& body);

 private:
  struct Session;
  class Buffered;

  void begin(const std::string& first, const std::function<void()>& body);
  PqResult run(std::string_view sql, const Values& values);
  /// `body` with a session, again in a new one where it is lost, until the wait is over. Within a
  /// transaction the loss is the transaction's.
  void with_session(const std::function<void(Session&)>& body);

  std::string url_;
  std::chrono::milliseconds wait_;
  std::unique_ptr<Session> session_;
};

}  // namespace tunebench::store
