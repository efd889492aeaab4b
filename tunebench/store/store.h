#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/expression/expression.h"
#include "tunebench/record/record.h"

namespace tunebench::store {

/// One call of `tunebench run`, or one import.
struct Run {
  std::string name;          ///< two words: brisk-otter
  std::string command;       ///< as typed
  std::string started_at;    ///< ISO time
  std::string ended_at;      ///< empty while it runs
  std::string status;        ///< running, finished, interrupted, imported, ...
  std::int64_t planned = 0;  ///< measurements planned
  std::int64_t pid = 0;
  std::string host;
  std::string
      process_start;        ///< start time of the process, so that a reused pid is not taken for it
  std::string plan;         ///< JSON text: what is needed to go on with it; empty in runs of before
  std::string stop_reason;  ///< JSON text, set at the end; empty when none was given
  std::int64_t heartbeat = 0;  ///< end of its lease, seconds since 1970; 0: none was ever taken
  std::int64_t valid = 0;      ///< records it made that are ok
  std::int64_t failed = 0;     ///< records it shows that are not ok, reused ones included
  std::int64_t reused = 0;     ///< records of other runs that it shows and that are ok
  bool simulated = false;      ///< by trainer simulated: a model's numbers
  bool stop_requested = false;
  std::string trashed_at;         ///< ISO time; empty when it is not in the trash
  std::vector<std::string> tags;  ///< sorted
};

/// What a run is begun with.
struct NewRun {
  std::string command;
  std::int64_t planned = 0;
  std::string plan;
  bool simulated = false;
};

/// A run together with one of its measurements. Reused records are linked, not copied.
struct RunRecord {
  record::Record record;
  bool reused = false;
  std::string stale = {};  ///< "driver 550 -> 570" when it was reused although conditions differ;
                           ///< set by campaign::mark_stale, not kept
};

/// Whether a key may be measured now.
struct Claim {
  bool claimed = false;    ///< by the run that asked; else it is held by the following
  std::string run;         ///< that holds it
  std::string host;        ///< of that run
  std::int64_t until = 0;  ///< end of its lease, seconds since 1970; renewed while it lives
};

/// What a run learns when it says that it is alive.
enum class Beat {
  Going,
  StopRequested,  ///< somebody asks it to stop; its lease is renewed
  Lost,           ///< it was taken for dead, has ended or belongs to another process now
};

struct Baseline {
  std::string name;
  std::string run;
  std::string set_at;  ///< ISO time
};

/// What gc has removed for good.
struct Removed {
  std::int64_t runs = 0;
  std::int64_t records = 0;
};

/// Values of records, without the records.
struct ScanRequest {
  std::vector<std::string> columns;  ///< names as in record::flat
  std::optional<std::string> run;    ///< only what this run shows; its full name
  /// Only rows for which it holds; compiled over scan_columns(), and living as long as the scan.
  const expression::Expression* condition = nullptr;
};
/// All names that a scan knows: those of record::flat.
const std::vector<std::string>& scan_columns();

/// Where results are kept. Several processes and, with PostgreSQL, several machines may have it
/// open; each call is one transaction and waits for others. A record is on disk when append
/// returns, or was not written at all. What only trashed runs show is as if it were not there.
/// Errors: Io naming the location; Unsupported when its schema is newer than this program; NotFound
/// for a run that does not exist. Not thread-safe: one object a thread.
class Store {
 public:
  virtual ~Store() = default;

  /// Makes the run row under a new name, owned by this process, and returns it. Its lease begins
  /// with the first heartbeat; without one it is alive as long as its process, seen from its host.
  virtual Run begin_run(const NewRun& run) = 0;
  /// Goes on with a run that has ended or died: this process owns it from now on. `name`: as
  /// find_run. Errors: InvalidInput when it is alive in another process or is an import.
  virtual Run resume_run(std::string_view name) = 0;
  /// Releases its claims. Errors: InvalidInput when it runs in another process.
  virtual void end_run(const std::string& name, const std::string& status,
                       const std::string& stop_reason = "") = 0;

  /// Renews the leases of the run and of its claims. To be called every kBeat: store::Heartbeat
  /// does.
  virtual Beat heartbeat(const std::string& run) = 0;
  /// Runs that say running but whose process of this host is gone, or whose lease is over, become
  /// interrupted, ended when their last record was kept, and lose their claims; returns them,
  /// oldest first.
  virtual std::vector<Run> mark_dead_runs() = 0;

  /// Asks a run to stop, wherever it is. Errors: InvalidInput when it is not running.
  virtual void request_stop(const std::string& run) = 0;
  [[nodiscard]] virtual bool stop_requested(const std::string& run) const = 0;

  /// Takes the right to measure a key; what a dead or ended run holds, or a lapsed lease, is taken
  /// over. Once it is claimed, look again whether the store knows the key: its holder may just have
  /// measured it. Seen by all processes at once; a power failure may undo it. Errors: InvalidInput
  /// when the run is not running, as after it was taken for dead.
  virtual Claim claim(const std::string& run, const std::string& key) = 0;
  /// Gives it back without a result.
  virtual void release(const std::string& run, const std::string& key) = 0;
  /// The keys that a run holds, sorted.
  [[nodiscard]] virtual std::vector<std::string> claims(const std::string& run) const = 0;

  /// Its run must exist; the run's claim of the key is released. When the store cannot be written,
  /// the record is kept in a file that the error names; the next open_store for writing takes it
  /// in.
  virtual void append(const record::Record& record) = 0;
  /// All of them in one transaction or, on an error, none; nothing is kept elsewhere then. For
  /// imports: their records come from a file that is still there. Errors: InvalidInput for an id
  /// that the store has.
  virtual void append_all(std::span<const record::Record> records) = 0;
  /// Also one that only trashed runs show.
  [[nodiscard]] virtual bool has_record(const std::string& id) const = 0;
  /// Once per run and record; linking again does nothing. All of them or, on an error, none.
  virtual void link_reused(const std::string& run, std::span<const std::string> record_ids) = 0;
  void link_reused(const std::string& run, const std::string& record_id) {
    link_reused(run, std::span(&record_id, 1));
  }

  /// Valid records (status ok or invalid_config) with this key, oldest first.
  [[nodiscard]] virtual std::vector<record::Record> reusable(const std::string& key) const = 0;

  /// Records with this key however they ended, interrupted ones left out, oldest first.
  [[nodiscard]] virtual std::vector<record::Record> attempts(const std::string& key) const = 0;

  /// Valid records (as reusable) of this point under another key, newest first: what would be
  /// reused had the conditions stayed the same. None for an empty point_key.
  [[nodiscard]] virtual std::vector<record::Record> stale(const std::string& point_key,
                                                          const std::string& key) const = 0;

  /// Keeps a run of elsewhere under its name, or with a number behind it when that is another
  /// run's, with the status imported and no records yet. One that is here already - name, begin and
  /// command are equal - stays as it is and leaves the trash. Returns the run as it is here.
  /// Errors: InvalidInput for a name that could be none.
  virtual Run import_run(const Run& run) = 0;
  /// Keeps those records whose id is not known and lets the run show all of them; `run` and each
  /// record's own run must exist. Returns how many are new. All of them or, on an error, none.
  virtual std::int64_t import_records(const std::string& run,
                                      std::span<const RunRecord> records) = 0;
  /// Whether a run that is not in the trash shows it.
  [[nodiscard]] virtual bool shows_record(const std::string& id) const = 0;

  /// Newest first. Reads no records.
  [[nodiscard]] virtual std::vector<Run> runs() const = 0;
  /// What is in the trash, the last put there first.
  [[nodiscard]] virtual std::vector<Run> trashed_runs() const = 0;
  /// By full name, tag, unique prefix, "@last", "@last~1". Errors: NotFound with the nearest name;
  /// InvalidInput when a prefix fits several.
  [[nodiscard]] virtual Run find_run(std::string_view name) const = 0;

  /// In the order they were made or linked.
  [[nodiscard]] virtual std::vector<RunRecord> records_of(const std::string& run) const = 0;
  /// All records, oldest first.
  [[nodiscard]] virtual std::vector<record::Record> all_records() const = 0;
  /// What records_of (with a run) or all_records gives, one at a time, so that any number of them
  /// takes little memory. `take` must not use this store object.
  virtual void for_each_record(const std::optional<std::string>& run,
                               const std::function<void(const RunRecord&)>& take) const = 0;
  /// One call of `take` for each record, oldest first (of a run: in its order), with the values of
  /// the columns in the order asked for; null when absent or not finite. `take` must not use this
  /// store object. Errors: InvalidInput for an unknown column, with the nearest, and for a
  /// condition whose value is a text.
  virtual void scan(const ScanRequest& request,
                    const std::function<void(std::span<const Json>)>& take) const = 0;

  /// A second name for a run. Errors: InvalidInput when another run has it, be it as its name, or
  /// when it is empty, longer than 100 bytes, begins with @ or holds a space, slash or control
  /// character.
  virtual void tag(const std::string& run, const std::string& tag) = 0;
  /// Errors: NotFound with the nearest tag.
  virtual void untag(const std::string& tag) = 0;

  /// Names a run to compare with; a name that is in use moves. Errors: as those of tag.
  virtual void set_baseline(const std::string& name, const std::string& run) = 0;
  /// The run of that name. Errors: NotFound with the nearest baseline, or when its run is in the
  /// trash.
  [[nodiscard]] virtual Run baseline(const std::string& name) const = 0;
  /// Errors: NotFound with the nearest baseline.
  virtual void remove_baseline(const std::string& name) = 0;
  /// By name; those whose run is in the trash are left out.
  [[nodiscard]] virtual std::vector<Baseline> baselines() const = 0;

  /// Hides a run and what only it shows. `name`: as find_run; returns it. Errors: InvalidInput for
  /// one that is alive.
  virtual Run trash_run(std::string_view name) = 0;
  /// Brings back the run that was trashed last and returns it. Errors: NotFound when there is none.
  virtual Run undo() = 0;
  /// Removes for good the runs that have been in the trash for so long, and the records that no
  /// other run shows.
  virtual Removed gc(std::int64_t older_than_seconds) = 0;
  /// What gc would remove now.
  [[nodiscard]] virtual Removed gc_preview(std::int64_t older_than_seconds) const = 0;

  /// For messages: the file, or the URL without user's password.
  [[nodiscard]] virtual std::string location() const = 0;
};

enum class OpenMode {
  Create,    ///< for writing; file and folders are made when missing
  Existing,  ///< for writing; NotFound when there is none
  ReadOnly,  ///< NotFound when there is none
};
/// `location`: a file, or the URL of a PostgreSQL database ("postgresql://user@host/name"), where
/// the tables are in schema "tunebench" unless the URL names a search path. A server that cannot be
/// reached is an error at once; one that is lost later is waited for, up to 60 s.
/// A file of an older schema is brought up to date when opened for writing, in one transaction;
/// opened for reading it stays as it is, and a private copy is brought up to date.
std::unique_ptr<Store> open_store(const std::string& location, OpenMode mode);

/// Errors: InvalidInput for a text that cannot be the name of a run.
void check_run_name(std::string_view name);

/// Of the SQLite library in use, as it is at run time.
std::string sqlite_version();

/// Everything that is wrong with a store: damaged pages, broken links, records that cannot be read,
/// counts, values and claims that do not fit the records and runs. Empty when all is well. Errors
/// as open_store with ReadOnly.
std::vector<std::string> check_store(const std::string& location);

/// --store value, else TUNEBENCH_STORE, else $XDG_DATA_HOME/tunebench/store.db, else
/// ~/.local/share/tunebench/store.db.
std::string default_store_location(std::string_view option);
/// Where files that belong to a store are put, such as logs: the folder of its file.
std::filesystem::path folder_of_store(const std::string& location);

}  // namespace tunebench::store
