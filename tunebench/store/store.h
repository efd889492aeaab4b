#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/record/record.h"

namespace tunebench::store {

/// One call of `tunebench run`.
struct Run {
  std::string name;          ///< two words: brisk-otter
  std::string command;       ///< as typed
  std::string started_at;    ///< ISO time
  std::string ended_at;      ///< empty while it runs
  std::string status;        ///< running, finished, interrupted
  std::int64_t planned = 0;  ///< measurements planned
  std::int64_t pid = 0;
  std::string host;
  std::string
      process_start;  ///< start time of the process, so that a reused pid is not taken for it
};

/// A run together with one of its measurements. Reused records are linked, not copied.
struct RunRecord {
  record::Record record;
  bool reused = false;
};

/// Where results are kept. Several processes may have it open; each call is one transaction and
/// waits for others. A record is on disk when append returns, or was not written at all.
/// Errors: Io naming the file; Unsupported when the file's schema is newer than this program.
/// Not thread-safe.
class Store {
 public:
  virtual ~Store() = default;

  /// Makes the run row under a new name and returns it.
  virtual Run begin_run(const std::string& command, std::int64_t planned) = 0;
  virtual void end_run(const std::string& name, const std::string& status) = 0;
  /// Runs of this host whose process is gone but that still say running become interrupted, ended
  /// when their last record was kept; returns them, oldest first.
  virtual std::vector<Run> mark_dead_runs() = 0;

  /// Its run must exist. When the file cannot be written, the record is kept in a file beside it
  /// that the error names; the next open_store for writing takes it in.
  virtual void append(const record::Record& record) = 0;
  /// Once per run and record; linking again does nothing. All of them or, on an error, none.
  virtual void link_reused(const std::string& run, std::span<const std::string> record_ids) = 0;
  void link_reused(const std::string& run, const std::string& record_id) {
    link_reused(run, std::span(&record_id, 1));
  }

  /// Valid records (status ok or invalid_config) with this key, oldest first.
  [[nodiscard]] virtual std::vector<record::Record> reusable(const std::string& key) const = 0;

  /// Records with this key however they ended, interrupted ones left out, oldest first.
  [[nodiscard]] virtual std::vector<record::Record> attempts(const std::string& key) const = 0;

  /// Newest first.
  [[nodiscard]] virtual std::vector<Run> runs() const = 0;
  /// By full name, unique prefix, "@last", "@last~1". Errors: NotFound with the nearest name;
  /// InvalidInput when a prefix fits several.
  [[nodiscard]] virtual Run find_run(std::string_view name) const = 0;
  /// In the order they were made or linked.
  [[nodiscard]] virtual std::vector<RunRecord> records_of(const std::string& run) const = 0;
  /// All records, oldest first.
  [[nodiscard]] virtual std::vector<record::Record> all_records() const = 0;

  [[nodiscard]] virtual std::string location() const = 0;
};

enum class OpenMode {
  Create,    ///< for writing; file and folders are made when missing
  ReadOnly,  ///< NotFound when there is none
};
std::unique_ptr<Store> open_store(const std::filesystem::path& file, OpenMode mode);

/// Of the SQLite library in use, as it is at run time.
std::string sqlite_version();

/// Everything that is wrong with a store: damaged pages, broken links, records that cannot be
/// read. Empty when all is well. Errors as open_store with ReadOnly.
std::vector<std::string> check_store(const std::filesystem::path& file);

/// --store value, else TUNEBENCH_STORE, else $XDG_DATA_HOME/tunebench/store.db, else
/// ~/.local/share/tunebench/store.db.
std::filesystem::path default_store_path(std::string_view option);

}  // namespace tunebench::store
