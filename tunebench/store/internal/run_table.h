#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tunebench/store/internal/connection.h"
#include "tunebench/store/store.h"

namespace tunebench::store {

/// Runs with their names, tags, owners and leases. Members do what those of Store do; "within a
/// transaction" those that say so.
class RunTable {
 public:
  explicit RunTable(Connection& connection) : connection_(connection) {}

  Run begin(const NewRun& wanted);
  Run resume(std::string_view reference);
  void end(const std::string& name, const std::string& status, const std::string& stop_reason);

  /// Lost also for a run that is not there.
  Beat heartbeat(const std::string& name);
  std::vector<Run> mark_dead();
  void request_stop(const std::string& name);

  [[nodiscard]] std::vector<Run> all() const;
  [[nodiscard]] std::vector<Run> trashed() const;
  [[nodiscard]] Run find(std::string_view reference) const;
  /// By its full name. Errors: NotFound, also for a run in the trash.
  [[nodiscard]] Run get(const std::string& name) const;
  /// As get, for those who only want the error.
  void check(const std::string& name) const;

  void tag(const std::string& run, const std::string& tag);
  void untag(const std::string& tag);

  /// Interrupted, without claims; within a transaction. Returns it as it now is.
  Run mark(Run run);
  /// One of `rows` of "SELECT <kRunColumns> FROM run", without tags.
  static Run read(const Rows& row);
  static const std::string_view kColumns;

 private:
  [[nodiscard]] std::vector<Run> read_all(std::string_view tail, const Values& values = {}) const;
  [[nodiscard]] bool is_name_taken(const std::string& name) const;
  void insert(const Run& run);
  [[nodiscard]] std::string last_kept_at(const Run& run) const;
  void add_tags(std::vector<Run>& runs) const;

  Connection& connection_;
};

/// Errors: InvalidInput for a name that could not be told from other ways to name a run.
void check_label(std::string_view what, std::string_view label);

/// ISO time by this machine's clock.
std::string now_text();

}  // namespace tunebench::store
