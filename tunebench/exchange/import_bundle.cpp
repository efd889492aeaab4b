#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/exchange/bundle.h"
#include "tunebench/exchange/internal/archive.h"
#include "tunebench/exchange/internal/bundle_format.h"

namespace tunebench::exchange {
namespace {

constexpr std::size_t kRecordsAtOnce = 500;

[[noreturn]] void throw_line(std::string text) {
  throw Error(ErrorCode::Corrupt, std::move(text));
}

/// The id in "logs/ID.log.gz" or "logs/ID.log"; nullopt for another name.
std::optional<std::string> id_of_log(std::string_view name) {
  if (!name.starts_with(kLogFolder)) {
    return std::nullopt;
  }
  name.remove_prefix(kLogFolder.size());
  for (const std::string_view ending : {".log.gz", ".log"}) {
    if (name.ends_with(ending)) {
      const std::string_view id = name.substr(0, name.size() - ending.size());
      return is_record_id(id) ? std::optional(std::string(id)) : std::nullopt;
    }
  }
  return std::nullopt;
}

/// What one walk through a bundle sees of it. The bundle is walked through twice: once to look
/// whether all is well, once to keep it.
class BundleVisitor {
 public:
  virtual ~BundleVisitor() = default;
  virtual void run(const store::Run& run) = 0;
  virtual void shows(const std::string& run) = 0;
  virtual void record(record::Record&& record) = 0;
  virtual void reused(const std::string& id) = 0;
  virtual void log(const std::string& id, const std::string& name, std::string&& bytes) = 0;
  /// A line that is wrong; the walk goes on.
  virtual void rejected(Rejected&& line) = 0;
};

class BundleWalk {
 public:
  BundleWalk(std::filesystem::path file, BundleVisitor& visitor)
      : file_(std::move(file)), visitor_(visitor) {}

  /// Lines that are wrong are handed to the visitor.
  void look() {
    read_archive(file_, [&](const std::string& name, std::string&& bytes) {
      entry(name, std::move(bytes));
    });
    if (!head_seen_ || !end_seen_) {
      throw Error(ErrorCode::Corrupt,
                  display_path(file_) + ": this is no whole bundle of tunebench");
    }
    for (const auto& [id, name] : logs_) {
      if (!known_.contains(id)) {
        reject(place(name), "this log belongs to no record of the bundle");
      }
    }
  }

  /// Once more, without the places that were found to be wrong. What the visitor throws, as for a
  /// disk that is full, is not the bundle's fault and ends the walk.
  void keep(const std::vector<Rejected>& wrong) {
    for (const Rejected& one : wrong) {
      wrong_.insert(one.where);
    }
    keeping_ = true;
    any_wrong_ = !wrong.empty();
    read_archive(file_, [&](const std::string& name, std::string&& bytes) {
      entry(name, std::move(bytes));
    });
  }

 private:
  void entry(const std::string& name, std::string&& bytes) {
    if (!head_seen_) {
      head(name, bytes);
    } else if (name.starts_with(kContentFolder)) {
      content(name, bytes);
    } else if (wrong_.contains(place(name))) {
      return;
    } else if (const std::optional<std::string> id = id_of_log(name)) {
      logs_[*id] = name;
      visitor_.log(*id, name, std::move(bytes));
    } else {
      reject(place(name), "a bundle has no such file");
    }
  }

  void reject(std::string where, std::string reason) {
    any_wrong_ = true;
    visitor_.rejected({std::move(where), std::move(reason)});
  }

  void head(const std::string& name, const std::string& bytes) {
    if (name != kHeadName) {
      throw Error(ErrorCode::Corrupt, "it does not begin with bundle.json: this is no bundle");
    }
    const Json document = Json::parse(bytes, kHeadName);
    if (document.at("kind") != Json("tunebench bundle")) {
      throw Error(ErrorCode::Corrupt, "bundle.json is not that of a bundle");
    }
    if (const std::int64_t format = document.at("format").as_int(); format > kBundleFormat) {
      throw Error(
          ErrorCode::Unsupported,
          fmt::format("it was written by a newer tunebench (format {}, this program knows {})",
                      format, kBundleFormat));
    }
    head_seen_ = true;
  }

  void content(const std::string& name, std::string_view bytes) {
    for (int number = 1; !bytes.empty(); ++number) {
      const std::size_t end = bytes.find('\n');
      const std::string_view text = bytes.substr(0, end);
      bytes.remove_prefix(end == std::string_view::npos ? bytes.size() : end + 1);
      const std::string where = fmt::format("{}:{}", place(name), number);
      if (keeping_) {
        if (!wrong_.contains(where)) {
          line(Json::parse(text, where));
        }
        continue;
      }
      try {
        line(Json::parse(text, "line"));
      } catch (const Error& error) {
        reject(where, error.message());
      }
    }
  }

  void line(const Json& line) {
    const std::string& kind = line.at("kind").as_string();
    if (kind == "run") {
      const store::Run run = run_of(line);
      visitor_.run(run);
      runs_.insert(run.name);
    } else if (kind == "environment") {
      environments_[line.at("number").as_int()] =
          record::environment_from_text(line.at("content").dump());
    } else if (kind == "shows") {
      shown_.clear();  // what follows a wrong line must not go to the run before it
      check_run(line.at("run").as_string());
      shown_ = line.at("run").as_string();
      visitor_.shows(shown_);
    } else if (kind == "record") {
      record_line(line);
    } else if (kind == "reused") {
      const std::string& id = line.at("id").as_string();
      if (!known_.contains(id) || shown_.empty()) {
        throw_line(fmt::format("there is no record {} before it", excerpt(id)));
      }
      visitor_.reused(id);
    } else if (kind == "end") {
      check_end(line);
    } else {
      throw_line(fmt::format("unknown kind '{}'", excerpt(kind)));
    }
  }

  void check_run(const std::string& name) const {
    if (!runs_.contains(name)) {
      throw_line(fmt::format("there is no run '{}' before it", excerpt(name)));
    }
  }

  void record_line(const Json& line) {
    record::Record record = record::from_text(line.at("record").dump());
    if (!is_record_id(record.id)) {
      throw_line(fmt::format("'{}' is no id of a record", excerpt(record.id)));
    }
    check_run(record.run);
    if (shown_.empty()) {
      throw_line("no run shows it");
    }
    for (const auto& [name, value] : record.measured) {
      const record::Field* field = record::find_field(name);
      if (field != nullptr && !value.is_null() && !record::fits(field->type, value)) {
        throw_line(fmt::format("'{}' is {}", name, value.kind_name()));
      }
    }
    const auto environment = environments_.find(line.at("environment").as_int());
    if (environment == environments_.end()) {
      throw_line("its environment is not there");
    }
    record.environment = environment->second;
    if (!known_.insert(record.id).second) {
      throw_line(fmt::format("record {} is there twice", record.id));
    }
    visitor_.record(std::move(record));
  }

  void check_end(const Json& line) {
    end_seen_ = true;
    if (any_wrong_) {
      return;  // the numbers differ for a reason that was told
    }
    if (line.at("runs").as_int() != static_cast<std::int64_t>(runs_.size()) ||
        line.at("records").as_int() != static_cast<std::int64_t>(known_.size())) {
      throw_line(fmt::format("the bundle says {} runs and {} records, {} and {} can be read",
                             line.at("runs").as_int(), line.at("records").as_int(), runs_.size(),
                             known_.size()));
    }
  }

  [[nodiscard]] std::string place(const std::string& name) const {
    return fmt::format("{}/{}", display_path(file_.filename()), excerpt(name));
  }

  std::filesystem::path file_;
  BundleVisitor& visitor_;
  std::set<std::string> runs_;
  std::set<std::string> known_;  ///< ids of records
  std::map<std::int64_t, Json> environments_;
  std::string shown_;
  bool head_seen_ = false;
  bool end_seen_ = false;
  bool any_wrong_ = false;
  bool keeping_ = false;
  std::set<std::string> wrong_;              ///< places to leave out
  std::map<std::string, std::string> logs_;  ///< names of the entries by id
};

/// Only looks.
class BundleCheck final : public BundleVisitor {
 public:
  explicit BundleCheck(const store::Store& store) : store_(store) {}

  void run(const store::Run& run) override { store::check_run_name(run.name); }
  void shows(const std::string& /*run*/) override {}
  void record(record::Record&& record) override {
    if (store_.has_record(record.id)) {
      here.insert(record.id);
    }
  }
  void reused(const std::string& /*id*/) override {}
  void log(const std::string& id, const std::string& name, std::string&& /*bytes*/) override {
    logs[id] = name;
  }
  void rejected(Rejected&& line) override { problems.push_back(std::move(line)); }

  std::map<std::string, std::string> logs;  ///< names of the entries by id
  std::set<std::string> here;               ///< ids that the store has already
  std::vector<Rejected> problems;

 private:
  const store::Store& store_;
};

class BundleKeeper final : public BundleVisitor {
 public:
  BundleKeeper(store::Store& store, std::filesystem::path folder,
               const std::map<std::string, std::string>& logs)
      : store_(store), folder_(std::move(folder)), logs_(logs) {}

  void run(const store::Run& run) override {
    const store::Run kept = store_.import_run(run);
    names_[run.name] = kept.name;
    result_.runs.push_back(kept.name);
    add_tags(run, kept);
  }
  void shows(const std::string& run) override {
    flush();
    shown_ = names_.at(run);
  }
  void record(record::Record&& record) override {
    flush_links();
    record.run = names_.at(record.run);
    record.log_path = display_path(log_file(record.id));
    records_.push_back({.record = std::move(record)});
    if (records_.size() >= kRecordsAtOnce) {
      flush();
    }
  }
  void reused(const std::string& id) override {
    flush_records();
    links_.push_back(id);
    if (links_.size() >= kRecordsAtOnce) {
      flush();
    }
  }
  void log(const std::string& id, const std::string& /*name*/, std::string&& bytes) override {
    if (const std::filesystem::path file = log_file(id); !file.empty()) {
      write_file_atomically(file, bytes);
    }
  }
  void rejected(Rejected&& /*line*/) override {}  // told by the first walk

  Imported finish() {
    flush();
    return std::move(result_);
  }

 private:
  /// Named by the id alone, which was looked at: nothing of the archive's names gets into a path.
  [[nodiscard]] std::filesystem::path log_file(const std::string& id) const {
    const auto found = logs_.find(id);
    if (found == logs_.end()) {
      return {};
    }
    return folder_ / "imported" / (id + (found->second.ends_with(".gz") ? ".log.gz" : ".log"));
  }

  /// A tag that means another run here is left to it.
  void add_tags(const store::Run& run, const store::Run& kept) {
    for (const std::string& tag : run.tags) {
      try {
        store_.tag(kept.name, tag);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::InvalidInput) {
          throw;
        }
        result_.notes.push_back(fmt::format("tag '{}' of {} is left out: {}", excerpt(tag),
                                            kept.name, error.message()));
      }
    }
  }

  void flush() {
    flush_records();
    flush_links();
  }
  void flush_records() {
    if (!records_.empty()) {
      const std::int64_t added = store_.import_records(shown_, records_);
      result_.added += added;
      result_.known += static_cast<std::int64_t>(records_.size()) - added;
      records_.clear();
    }
  }
  void flush_links() {
    if (!links_.empty()) {
      store_.link_reused(shown_, links_);
      links_.clear();
    }
  }

  store::Store& store_;
  std::filesystem::path folder_;
  const std::map<std::string, std::string>& logs_;
  std::map<std::string, std::string> names_;  ///< here, by those of the bundle
  std::string shown_;
  std::vector<store::RunRecord> records_;
  std::vector<std::string> links_;
  Imported result_;
};

}  // namespace

Imported import_bundle(store::Store& store, const std::filesystem::path& file,
                       const std::filesystem::path& log_folder, bool skip_bad) {
  BundleCheck check(store);
  BundleWalk(file, check).look();
  if (!check.problems.empty() && !skip_bad) {
    return {.rejected = std::move(check.problems), .refused = true};
  }
  for (const std::string& id : check.here) {
    check.logs.erase(id);  // it has its own
  }
  BundleKeeper keeper(store, log_folder, check.logs);
  BundleWalk(file, keeper).keep(check.problems);
  Imported result = keeper.finish();
  result.rejected = std::move(check.problems);
  return result;
}

}  // namespace tunebench::exchange
