#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "tunebench/base/clock.h"
#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/log.h"
#include "tunebench/store/internal/open.h"
#include "tunebench/store/internal/process.h"
#include "tunebench/store/internal/run_names.h"
#include "tunebench/store/internal/unsaved.h"

namespace tunebench::store {
namespace {

constexpr const char* kRunColumns =
    "name, command, started_at, ended_at, status, planned, pid, host, process_start";

Run read_run(const Statement& row) {
  return {.name = row.text(0),
          .command = row.text(1),
          .started_at = row.text(2),
          .ended_at = row.text(3),
          .status = row.text(4),
          .planned = row.integer(5),
          .pid = row.integer(6),
          .host = row.text(7),
          .process_start = row.text(8)};
}

std::string now_text() {
  return iso_time(system_clock().unix_seconds());
}

class SqliteStore final : public Store {
 public:
  explicit SqliteStore(std::unique_ptr<Database> database) : database_(std::move(database)) {}

  Run begin_run(const std::string& command, std::int64_t planned) override {
    Run run{.command = command,
            .started_at = now_text(),
            .status = "running",
            .planned = planned,
            .pid = getpid(),
            .host = host_name(),
            .process_start = process_start(getpid()).value_or("")};
    database_->transaction([&] {
      run.name = new_run_name([this](const std::string& name) { return has_run(name); });
      insert_run(run);
    });
    return run;
  }

  void end_run(const std::string& name, const std::string& status) override {
    database_->transaction([&] {
      check_run(name);
      Statement(*database_, "UPDATE run SET status = ?, ended_at = ? WHERE name = ?")
          .bind(0, status)
          .bind(1, now_text())
          .bind(2, name)
          .run();
    });
  }

  std::vector<Run> mark_dead_runs() override {
    std::vector<Run> dead;
    database_->transaction([&] {
      dead.clear();
      for (Run& run : running_here()) {
        if (process_start(run.pid) == run.process_start) {
          continue;
        }
        run.status = "interrupted";
        run.ended_at = last_kept_at(run);
        Statement(*database_, "UPDATE run SET status = ?, ended_at = ? WHERE name = ?")
            .bind(0, run.status)
            .bind(1, run.ended_at)
            .bind(2, run.name)
            .run();
        dead.push_back(std::move(run));
      }
    });
    return dead;
  }

  void append(const record::Record& record) override {
    try {
      database_->transaction([&] {
        check_run(record.run);
        insert_record(record);
      });
    } catch (Error& error) {
      if (error.code() != ErrorCode::Io && error.code() != ErrorCode::Corrupt) {
        throw;
      }
      const std::filesystem::path kept = keep_unsaved(database_->file(), record::to_text(record));
      throw Error(error.code(), kept.empty() ? error.message() + "; the result is lost"
                                             : fmt::format("{}; the result was kept in {}",
                                                           error.message(), display_path(kept)));
    }
  }

  using Store::link_reused;
  void link_reused(const std::string& run, std::span<const std::string> record_ids) override {
    database_->transaction([&] {
      check_run(run);
      for (const std::string& record_id : record_ids) {
        if (!has_record(record_id)) {
          throw Error(ErrorCode::NotFound, fmt::format("there is no record {}", record_id));
        }
        link(run, record_id, true);
      }
    });
  }

  [[nodiscard]] std::vector<record::Record> reusable(const std::string& key) const override {
    Statement rows(*database_,
                   "SELECT body FROM record WHERE key = ? AND status IN ('ok', 'invalid_config') "
                   "ORDER BY number");
    rows.bind(0, key);
    return read_records(rows);
  }

  [[nodiscard]] std::vector<record::Record> attempts(const std::string& key) const override {
    Statement rows(*database_,
                   "SELECT body FROM record WHERE key = ? AND status <> 'interrupted' "
                   "ORDER BY number");
    rows.bind(0, key);
    return read_records(rows);
  }

  [[nodiscard]] std::vector<Run> runs() const override {
    Statement rows(*database_, fmt::format("SELECT {} FROM run ORDER BY number DESC", kRunColumns));
    return read_runs(rows);
  }

  [[nodiscard]] Run find_run(std::string_view name) const override {
    std::vector<std::string> names;
    Statement rows(*database_, "SELECT name FROM run ORDER BY number DESC");
    while (rows.step()) {
      names.push_back(rows.text(0));
    }
    Statement row(*database_, fmt::format("SELECT {} FROM run WHERE name = ?", kRunColumns));
    row.bind(0, resolve_run_name(name, names));
    TB_CHECK(row.step());
    return read_run(row);
  }

  [[nodiscard]] std::vector<RunRecord> records_of(const std::string& run) const override {
    check_run(run);
    Statement rows(*database_,
                   "SELECT record.body, run_record.reused FROM run_record "
                   "JOIN record ON record.id = run_record.record_id "
                   "WHERE run_record.run = ? ORDER BY run_record.number");
    rows.bind(0, run);
    std::vector<RunRecord> records;
    while (rows.step()) {
      records.push_back({read_record(rows), rows.integer(1) != 0});
    }
    return records;
  }

  [[nodiscard]] std::vector<record::Record> all_records() const override {
    Statement rows(*database_, "SELECT body FROM record ORDER BY number");
    return read_records(rows);
  }

  [[nodiscard]] std::string location() const override { return display_path(database_->file()); }

  /// Records that could not be written before.
  void take_in_unsaved() {
    try {
      take_unsaved(database_->file(), [this](const std::vector<std::string>& lines) {
        database_->transaction([&] {
          for (const std::string& line : lines) {
            const record::Record record = record::from_text(line);
            if (!has_record(record.id)) {
              check_run(record.run);
              insert_record(record);
            }
          }
        });
        log_info(fmt::format("took {} result(s) from {} into the store", lines.size(),
                             display_path(unsaved_file(database_->file()))));
      });
    } catch (const Error& error) {
      // The store itself works; the file stays for a person to look at.
      log_warning(fmt::format("{} was left as it is: {}",
                              display_path(unsaved_file(database_->file())), error.message()));
    }
  }

 private:
  [[nodiscard]] record::Record read_record(const Statement& row) const {
    return with_context(location(), [&row] { return record::from_text(row.text(0)); });
  }

  [[nodiscard]] std::vector<record::Record> read_records(Statement& rows) const {
    std::vector<record::Record> records;
    while (rows.step()) {
      records.push_back(read_record(rows));
    }
    return records;
  }

  static std::vector<Run> read_runs(Statement& rows) {
    std::vector<Run> runs;
    while (rows.step()) {
      runs.push_back(read_run(rows));
    }
    return runs;
  }

  [[nodiscard]] std::vector<Run> running_here() const {
    Statement rows(*database_,
                   fmt::format("SELECT {} FROM run WHERE status = 'running' AND host = ? "
                               "ORDER BY number",
                               kRunColumns));
    rows.bind(0, host_name());
    return read_runs(rows);
  }

  [[nodiscard]] std::string last_kept_at(const Run& run) const {
    Statement row(*database_, "SELECT max(kept_at) FROM run_record WHERE run = ?");
    row.bind(0, run.name);
    const std::string kept = row.step() ? row.text(0) : "";
    return kept.empty() ? run.started_at : kept;
  }

  [[nodiscard]] bool exists(std::string_view sql, const std::string& text) const {
    Statement row(*database_, sql);
    return row.bind(0, text).step();
  }
  [[nodiscard]] bool has_run(const std::string& name) const {
    return exists("SELECT 1 FROM run WHERE name = ?", name);
  }
  [[nodiscard]] bool has_record(const std::string& id) const {
    return exists("SELECT 1 FROM record WHERE id = ?", id);
  }
  void check_run(const std::string& name) const {
    if (!has_run(name)) {
      throw Error(ErrorCode::NotFound, fmt::format("no run is named '{}'", name));
    }
  }

  void insert_run(const Run& run) const {
    Statement(*database_,
              fmt::format("INSERT INTO run ({}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", kRunColumns))
        .bind(0, run.name)
        .bind(1, run.command)
        .bind(2, run.started_at)
        .bind(3, run.ended_at)
        .bind(4, run.status)
        .bind(5, run.planned)
        .bind(6, run.pid)
        .bind(7, run.host)
        .bind(8, run.process_start)
        .run();
  }

  void insert_record(const record::Record& record) const {
    TB_CHECK(!record.id.empty() && !has_record(record.id));
    Statement(*database_, "INSERT INTO record (id, run, key, status, body) VALUES (?, ?, ?, ?, ?)")
        .bind(0, record.id)
        .bind(1, record.run)
        .bind(2, record.key)
        .bind(3, record::outcome_name(record.status))
        .bind(4, record::to_text(record))
        .run();
    link(record.run, record.id, false);
  }

  void link(const std::string& run, const std::string& record_id, bool reused) const {
    Statement(*database_,
              "INSERT OR IGNORE INTO run_record (run, record_id, reused, kept_at) "
              "VALUES (?, ?, ?, ?)")
        .bind(0, run)
        .bind(1, record_id)
        .bind(2, std::int64_t{reused})
        .bind(3, now_text())
        .run();
  }

  std::unique_ptr<Database> database_;
};

}  // namespace

std::unique_ptr<Store> open_store_waiting(const std::filesystem::path& file, OpenMode mode,
                                          std::chrono::milliseconds wait) {
  auto store = std::make_unique<SqliteStore>(open_database(file, mode, wait));
  if (mode == OpenMode::Create) {
    store->take_in_unsaved();
  }
  return store;
}

std::unique_ptr<Store> open_store(const std::filesystem::path& file, OpenMode mode) {
  return open_store_waiting(file, mode, kWait);
}

std::vector<std::string> check_store(const std::filesystem::path& file) {
  const std::unique_ptr<Database> database = open_database(file, OpenMode::ReadOnly, kWait);
  std::vector<std::string> problems;
  Statement pages(*database, "PRAGMA integrity_check");
  while (pages.step()) {
    if (pages.text(0) != "ok") {
      problems.push_back(pages.text(0));
    }
  }
  Statement links(*database, "PRAGMA foreign_key_check");
  while (links.step()) {
    problems.push_back(fmt::format("row {} of table {} refers to nothing in table {}",
                                   links.integer(1), links.text(0), links.text(2)));
  }
  Statement records(*database, "SELECT id, body FROM record ORDER BY number");
  while (records.step()) {
    try {
      record::from_text(records.text(1));
    } catch (const Error& error) {
      problems.push_back(fmt::format("record {}: {}", records.text(0), error.message()));
    }
  }
  return problems;
}

}  // namespace tunebench::store
