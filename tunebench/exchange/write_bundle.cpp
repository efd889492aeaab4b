#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/secrets.h"
#include "tunebench/exchange/bundle.h"
#include "tunebench/exchange/internal/archive.h"
#include "tunebench/exchange/internal/bundle_format.h"

namespace tunebench::exchange {
namespace {

/// Content is cut into pieces, so that neither side holds a million records in memory.
constexpr std::size_t kPieceBytes = std::size_t{8} << 20;

/// Lines to content/000001.jsonl and on.
class ContentWriter {
 public:
  explicit ContentWriter(ArchiveWriter& archive) : archive_(archive) {}

  void line(const std::string& text) {
    piece_ += text;
    piece_ += '\n';
    if (piece_.size() >= kPieceBytes) {
      flush();
    }
  }
  void flush() {
    if (!piece_.empty()) {
      archive_.add(fmt::format("{}{:06}.jsonl", kContentFolder, ++pieces_), piece_);
      piece_.clear();
    }
  }

 private:
  ArchiveWriter& archive_;
  std::string piece_;
  int pieces_ = 0;
};

class BundleWriter {
 public:
  BundleWriter(const store::Store& store, const std::filesystem::path& file)
      : store_(store), archive_(file), content_(archive_) {}

  BundleContent write(const std::vector<store::Run>& chosen) {
    find_logs(chosen);
    const std::vector<store::Run> runs = with_origins(chosen);
    archive_.add(
        std::string(kHeadName),
        Json::object({{"kind", "tunebench bundle"}, {"format", kBundleFormat}}).dump() + "\n");
    write_logs();
    for (const store::Run& run : runs) {
      content_.line(run_line(run).dump());
    }
    for (const store::Run& run : chosen) {
      write_shown(run.name);
    }
    content_.line(
        Json::object({{"kind", "end"}, {"runs", count(runs)}, {"records", count(written_)}})
            .dump());
    content_.flush();
    archive_.finish();
    content_counts_.runs = count(runs);
    content_counts_.records = count(written_);
    return content_counts_;
  }

 private:
  template <typename Container>
  static std::int64_t count(const Container& container) {
    return static_cast<std::int64_t>(container.size());
  }

  void find_logs(const std::vector<store::Run>& chosen) {
    for (const store::Run& run : chosen) {
      store_.scan({.columns = {"id", "log_path"}, .run = run.name}, [&](auto values) {
        if (values[1].is_string() && !values[1].as_string().empty()) {
          logs_[values[0].as_string()] = values[1].as_string();
        }
      });
    }
  }

  /// The chosen runs after those that measured what they reuse, each group in the order given.
  std::vector<store::Run> with_origins(const std::vector<store::Run>& chosen) const {
    std::set<std::string> named;
    for (const store::Run& run : chosen) {
      named.insert(run.name);
    }
    std::map<std::string, bool> simulated;
    for (const store::Run& run : chosen) {
      store_.scan({.columns = {"run", "trainer"}, .run = run.name}, [&](auto values) {
        if (!named.contains(values[0].as_string())) {
          simulated.emplace(values[0].as_string(), values[1] == Json("simulated"));
        }
      });
    }
    std::vector<store::Run> runs;
    for (const auto& [name, is_simulated] : simulated) {
      runs.push_back(origin(name, is_simulated));
    }
    runs.insert(runs.end(), chosen.begin(), chosen.end());
    return runs;
  }

  /// A run that was removed since lives on in its records only.
  [[nodiscard]] store::Run origin(const std::string& name, bool is_simulated) const {
    for (const store::Run& run : store_.runs()) {
      if (run.name == name) {
        return run;
      }
    }
    return {.name = name, .status = "imported", .simulated = is_simulated};
  }

  void write_shown(const std::string& run) {
    content_.line(Json::object({{"kind", "shows"}, {"run", run}}).dump());
    store_.for_each_record(run, [&](const store::RunRecord& one) {
      record::Record record = one.record;
      record.log_path.clear();  // a path of this machine says nothing elsewhere
      write_record(record);
    });
  }

  void write_record(const record::Record& record) {
    if (!written_.insert(record.id).second) {
      content_.line(Json::object({{"kind", "reused"}, {"id", record.id}}).dump());
      return;
    }
    const std::int64_t environment = environment_number(record.environment);
    // Put together as text: a record is long and is text already.
    content_.line(fmt::format(R"({{"kind":"record","environment":{},"record":{}}})", environment,
                              record::to_text_without_environment(record)));
  }

  std::int64_t environment_number(const Json& environment) {
    const std::string text = record::environment_text(environment);
    const auto [place, is_new] = environments_.emplace(sha256_hex(text), count(environments_) + 1);
    if (is_new) {
      content_.line(
          fmt::format(R"({{"kind":"environment","number":{},"content":{}}})", place->second, text));
    }
    return place->second;
  }

  void write_logs() {
    for (const auto& [id, path] : logs_) {
      try {
        const bool is_packed = path.extension() == ".gz";
        const std::string bytes = read_file(path);
        // One that is packed went through this when it was kept.
        archive_.add(fmt::format("{}{}{}", kLogFolder, id, is_packed ? ".log.gz" : ".log"),
                     is_packed ? bytes : mask_secrets(bytes));
        ++content_counts_.logs;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::NotFound) {
          throw;
        }
        ++content_counts_.missing_logs;
      }
    }
  }

  const store::Store& store_;
  ArchiveWriter archive_;
  ContentWriter content_;
  std::set<std::string> written_;                      ///< ids
  std::map<std::string, std::int64_t> environments_;   ///< numbers by hash
  std::map<std::string, std::filesystem::path> logs_;  ///< by id
  BundleContent content_counts_;
};

/// Oldest first, each once.
std::vector<store::Run> chosen_runs(const store::Store& store,
                                    const std::vector<std::string>& names) {
  std::set<std::string> wanted;
  for (const std::string& name : names) {
    wanted.insert(store.find_run(name).name);
  }
  std::vector<store::Run> runs = store.runs();
  std::erase_if(
      runs, [&](const store::Run& run) { return !wanted.empty() && !wanted.contains(run.name); });
  std::ranges::reverse(runs);
  return runs;
}

}  // namespace

BundleContent write_bundle(const store::Store& store, const std::vector<std::string>& runs,
                           const std::filesystem::path& file) {
  return BundleWriter(store, file).write(chosen_runs(store, runs));
}

}  // namespace tunebench::exchange
