#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/log.h"
#include "tunebench/base/text.h"
#include "tunebench/store/internal/baseline_table.h"
#include "tunebench/store/internal/claim_table.h"
#include "tunebench/store/internal/import.h"
#include "tunebench/store/internal/open.h"
#include "tunebench/store/internal/record_table.h"
#include "tunebench/store/internal/run_table.h"
#include "tunebench/store/internal/trash.h"
#include "tunebench/store/internal/unsaved.h"
#include "tunebench/store/internal/value_table.h"

namespace tunebench::store {
namespace {

class SqlStore final : public Store {
 public:
  SqlStore(std::unique_ptr<Connection> connection, std::filesystem::path unsaved)
      : connection_(std::move(connection)), unsaved_(std::move(unsaved)) {}

  Run begin_run(const NewRun& run) override { return runs_.begin(run); }
  Run resume_run(std::string_view name) override { return runs_.resume(name); }
  void end_run(const std::string& name, const std::string& status,
               const std::string& stop_reason) override {
    runs_.end(name, status, stop_reason);
  }
  Beat heartbeat(const std::string& run) override { return runs_.heartbeat(run); }
  std::vector<Run> mark_dead_runs() override { return runs_.mark_dead(); }
  void request_stop(const std::string& run) override { runs_.request_stop(run); }
  [[nodiscard]] bool stop_requested(const std::string& run) const override {
    return runs_.get(run).stop_requested;
  }

  Claim claim(const std::string& run, const std::string& key) override {
    return claims_.claim(run, key);
  }
  void release(const std::string& run, const std::string& key) override {
    claims_.release(run, key);
  }
  [[nodiscard]] std::vector<std::string> claims(const std::string& run) const override {
    return claims_.of(run);
  }

  void append(const record::Record& record) override {
    TB_CHECK(!record.id.empty());
    try {
      bool again = false;
      connection_->transaction([&] {
        const bool is_kept = records_.has(record.id);
        // Where a connection was lost, the first time may have been kept after all.
        if (is_kept && again) {
          return;
        }
        TB_CHECK(!is_kept);
        again = true;
        check_run(record.run);
        records_.insert(record);
      });
    } catch (Error& error) {
      if (error.code() != ErrorCode::Io && error.code() != ErrorCode::Corrupt) {
        throw;
      }
      const std::filesystem::path kept = keep_unsaved(unsaved_, record::to_text(record));
      throw Error(error.code(), kept.empty() ? error.message() + "; the result is lost"
                                             : fmt::format("{}; the result was kept in {}",
                                                           error.message(), display_path(kept)));
    }
  }

  void append_all(std::span<const record::Record> records) override {
    bool again = false;
    connection_->transaction([&] {
      const bool may_be_kept = std::exchange(again, true);
      for (const record::Record& record : records) {
        if (!records_.has(record.id)) {
          check_run(record.run);
          records_.insert(record);
        } else if (!may_be_kept) {
          throw Error(ErrorCode::InvalidInput,
                      fmt::format("there is a record {} already", printable(record.id)));
        }
      }
    });
  }

  [[nodiscard]] bool has_record(const std::string& id) const override { return records_.has(id); }

  using Store::link_reused;
  void link_reused(const std::string& run, std::span<const std::string> record_ids) override {
    connection_->transaction([&] {
      runs_.check(run);
      records_.link_reused(run, record_ids);
    });
  }

  [[nodiscard]] std::vector<record::Record> reusable(const std::string& key) const override {
    return records_.select("key = ? AND status IN ('ok', 'invalid_config')", {key});
  }
  [[nodiscard]] std::vector<record::Record> attempts(const std::string& key) const override {
    return records_.select("key = ? AND status <> 'interrupted'", {key});
  }
  [[nodiscard]] std::vector<record::Record> stale(const std::string& point_key,
                                                  const std::string& key) const override {
    return records_.select(
        "point_key = ? AND point_key <> '' AND key <> ? AND status IN ('ok', 'invalid_config')",
        {point_key, key}, RecordTable::Order::NewestFirst);
  }

  Run import_run(const Run& run) override { return store::import_run(*connection_, run); }
  std::int64_t import_records(const std::string& run, std::span<const RunRecord> records) override {
    return store::import_records(*connection_, run, records);
  }
  [[nodiscard]] bool shows_record(const std::string& id) const override {
    return store::shows_record(*connection_, id);
  }

  [[nodiscard]] std::vector<Run> runs() const override { return runs_.all(); }
  [[nodiscard]] std::vector<Run> trashed_runs() const override { return runs_.trashed(); }
  [[nodiscard]] Run find_run(std::string_view name) const override { return runs_.find(name); }

  [[nodiscard]] std::vector<RunRecord> records_of(const std::string& run) const override {
    std::vector<RunRecord> records;
    for_each_record(run, [&](const RunRecord& one) { records.push_back(one); });
    return records;
  }
  [[nodiscard]] std::vector<record::Record> all_records() const override {
    std::vector<record::Record> records;
    for_each_record({}, [&](const RunRecord& one) { records.push_back(one.record); });
    return records;
  }
  void for_each_record(const std::optional<std::string>& run,
                       const std::function<void(const RunRecord&)>& take) const override {
    if (run) {
      runs_.check(*run);
    }
    records_.for_each(run, take);
  }
  void scan(const ScanRequest& request,
            const std::function<void(std::span<const Json>)>& take) const override {
    if (request.run) {
      runs_.check(*request.run);
    }
    scan_values(*connection_, request, take);
  }

  void tag(const std::string& run, const std::string& tag) override { runs_.tag(run, tag); }
  void untag(const std::string& tag) override { runs_.untag(tag); }
  void set_baseline(const std::string& name, const std::string& run) override {
    store::set_baseline(*connection_, name, run);
  }
  [[nodiscard]] Run baseline(const std::string& name) const override {
    return find_baseline(*connection_, name);
  }
  void remove_baseline(const std::string& name) override {
    store::remove_baseline(*connection_, name);
  }
  [[nodiscard]] std::vector<Baseline> baselines() const override {
    return list_baselines(*connection_);
  }

  Run trash_run(std::string_view name) override { return store::trash_run(*connection_, name); }
  Run undo() override { return undo_trash(*connection_); }
  Removed gc(std::int64_t older_than_seconds) override {
    return purge_trash(*connection_, older_than_seconds);
  }
  [[nodiscard]] Removed gc_preview(std::int64_t older_than_seconds) const override {
    return preview_purge(*connection_, older_than_seconds);
  }

  [[nodiscard]] std::string location() const override { return connection_->location(); }

  /// Records that could not be written before.
  void take_in_unsaved() {
    try {
      take_unsaved(unsaved_, [this](const std::vector<std::string>& lines) {
        connection_->transaction([&] {
          for (const std::string& line : lines) {
            const record::Record record = record::from_text(line);
            if (!records_.has(record.id)) {
              check_run(record.run);
              records_.insert(record);
            }
          }
        });
        log_info(fmt::format("took {} result(s) from {} into the store", lines.size(),
                             display_path(unsaved_)));
      });
    } catch (const Error& error) {
      // The store itself works; the file stays for a person to look at.
      log_warning(fmt::format("{} was left as it is: {}", display_path(unsaved_), error.message()));
    }
  }

 private:
  /// A result is taken also when its run is in the trash by now.
  void check_run(const std::string& name) const {
    if (!connection_->has("SELECT 1 FROM run WHERE name = ?", {name})) {
      throw Error(ErrorCode::NotFound, fmt::format("no run is named '{}'", name));
    }
  }

  std::unique_ptr<Connection> connection_;
  std::filesystem::path unsaved_;
  RunTable runs_{*connection_};
  RecordTable records_{*connection_};
  ClaimTable claims_{*connection_};
};

}  // namespace

std::unique_ptr<Store> open_store_waiting(const std::string& location, OpenMode mode,
                                          std::chrono::milliseconds wait) {
  auto store =
      std::make_unique<SqlStore>(open_connection(location, mode, wait), unsaved_file(location));
  if (mode != OpenMode::ReadOnly) {
    store->take_in_unsaved();
  }
  return store;
}

std::unique_ptr<Store> open_store(const std::string& location, OpenMode mode) {
  return open_store_waiting(location, mode, kWait);
}

}  // namespace tunebench::store
