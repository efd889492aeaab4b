#include "tunebench/hub/cache.h"

#include <algorithm>
#include <map>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/file_content.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/json.h"
#include "tunebench/base/text.h"
#include "tunebench/hub/internal/cache_layout.h"
#include "tunebench/hub/internal/model_lock.h"

namespace tunebench::hub {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kCommitDigits = 40;
constexpr const char* kWeights = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

/// The names in a folder, sorted; none when it is not there.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::directory_iterator entries(folder, failure);
  if (failure && failure != std::errc::no_such_file_or_directory &&
      failure != std::errc::not_a_directory) {
    throw Error(ErrorCode::Io,
                fmt::format("cannot read {}: {}", display_path(folder), failure.message()));
  }
  for (; entries != fs::directory_iterator(); entries.increment(failure)) {
    names.push_back(entries->path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

/// All that is no folder, below a folder, by its name there.
std::vector<std::string> files_below(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code failure;
  fs::recursive_directory_iterator entries(folder, failure);
  for (; !failure && entries != fs::recursive_directory_iterator(); entries.increment(failure)) {
    if (entries->is_symlink() || !entries->is_directory()) {
      names.push_back(entries->path().lexically_relative(folder).string());
    }
  }
  std::ranges::sort(names);
  return names;
}

/// The commit in a file below refs; empty when there is none.
std::string commit_in(const fs::path& ref) {
  std::error_code ignored;
  if (!fs::is_regular_file(ref, ignored) || fs::file_size(ref, ignored) > 100) {
    return "";
  }
  const std::string text = read_file(ref);
  const std::string commit(trim(text));
  return is_hex(commit, kCommitDigits) ? commit : "";
}

CachedFile cached_file(const fs::path& folder, const std::string& name) {
  const fs::path link = folder / name;
  CachedFile file{.name = name, .blob = link};
  std::error_code failure;
  if (fs::is_symlink(link, failure)) {
    const fs::path target = fs::read_symlink(link, failure);
    file.blob = (link.parent_path() / target).lexically_normal();
  }
  const std::uintmax_t bytes = fs::file_size(link, failure);
  file.bytes = failure ? -1 : static_cast<std::int64_t>(bytes);
  return file;
}

/// The name of a blob is its content's hash.
std::string content_fault(const CachedFile& file) {
  const std::string hash = file.blob.filename().string();
  constexpr std::size_t kSha256Digits = 64;
  std::string found;
  if (is_hex(hash, kSha256Digits)) {
    found = sha256_file_hex(file.blob);
  } else if (is_hex(hash, kCommitDigits)) {
    found = git_blob_file_hex(file.blob);
  }
  return found.empty() || found == hash
             ? ""
             : fmt::format("{}: its content is damaged: hash {}, expected {}", printable(file.name),
                           found, hash);
}

/// The shards that an index names and the snapshot does not have.
void check_shards(const CachedModel& model, std::vector<std::string>& faults) {
  const fs::path index = model.folder / kIndex;
  std::set<std::string> missing;
  try {
    const Json document = read_json_file(index);
    const Json* map = document.find("weight_map");
    if (map == nullptr || !map->is_object()) {
      faults.push_back(fmt::format("{}: has no weight_map", kIndex));
      return;
    }
    for (const auto& [tensor, file] : map->as_object()) {
      const std::string shard = file.is_string() ? file.as_string() : file.dump();
      if (std::ranges::find(model.files, shard, &CachedFile::name) == model.files.end()) {
        missing.insert(shard);
      }
    }
  } catch (const Error& error) {
    faults.push_back(error.message());
  }
  for (const std::string& shard : missing) {
    faults.push_back(fmt::format("{}: named by {}, is not there", excerpt(shard), kIndex));
  }
}

/// Nobody writes to the model while they are held.
std::vector<FileLock> lock_all(const CacheLayout& layout, const std::string& model) {
  const fs::path folder = layout.model_lock().parent_path();
  std::vector<std::string> names = names_in(folder);
  names.push_back(layout.model_lock().filename().string());
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::vector<FileLock> locks;
  for (const std::string& name : names) {
    std::optional<FileLock> lock = try_model_lock(folder / name, FileLock::Kind::Exclusive);
    if (!lock) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{} is being fetched by another process; nothing is removed", model));
    }
    locks.push_back(std::move(*lock));
  }
  return locks;
}

}  // namespace

std::optional<fs::path> cached_snapshot(const fs::path& cache, const RepoId& model) {
  const CacheLayout layout(cache, model);
  const std::string commit = is_hex(model.revision, kCommitDigits)
                                 ? model.revision
                                 : commit_in(layout.ref(model.revision));
  const fs::path folder = layout.snapshot(commit);
  return commit.empty() || !is_there(folder / "config.json") ? std::nullopt : std::optional(folder);
}

std::int64_t CachedModel::bytes() const {
  std::map<fs::path, std::int64_t> blobs;
  for (const CachedFile& file : files) {
    blobs[file.blob] = std::max<std::int64_t>(file.bytes, 0);
  }
  std::int64_t sum = 0;
  for (const auto& [blob, size] : blobs) {
    sum += size;
  }
  return sum;
}

std::string CachedModel::text() const {
  const bool main = std::ranges::find(refs, "main") != refs.end();
  return RepoId{name, main ? "main" : refs.empty() ? commit : refs.front()}.text();
}

std::vector<CachedModel> cached_models(const fs::path& cache) {
  std::vector<CachedModel> models;
  for (const std::string& folder_name : names_in(cache)) {
    const std::optional<std::string> name = repo_of_folder(folder_name);
    if (!name) {
      continue;
    }
    const fs::path folder = cache / folder_name;
    std::map<std::string, std::vector<std::string>> refs;
    for (const std::string& ref : files_below(folder / "refs")) {
      refs[commit_in(folder / "refs" / ref)].push_back(ref);
    }
    for (const std::string& commit : names_in(folder / "snapshots")) {
      if (!is_hex(commit, kCommitDigits)) {
        continue;
      }
      CachedModel model{.name = *name, .commit = commit, .refs = refs[commit]};
      model.folder = folder / "snapshots" / commit;
      for (const std::string& file : files_below(model.folder)) {
        model.files.push_back(cached_file(model.folder, file));
      }
      models.push_back(std::move(model));
    }
  }
  return models;
}

std::vector<std::string> faults_of(const CachedModel& model, bool contents) {
  std::vector<std::string> faults;
  const auto has = [&](const char* name) {
    return std::ranges::find(model.files, name, &CachedFile::name) != model.files.end();
  };
  if (!has("config.json")) {
    faults.emplace_back("config.json: is not there");
  }
  if (!has(kWeights) && !has(kIndex)) {
    faults.push_back(fmt::format("{}: is not there, nor is {}", kWeights, kIndex));
  }
  for (const CachedFile& file : model.files) {
    if (file.bytes < 0) {
      faults.push_back(fmt::format("{}: its link leads nowhere", printable(file.name)));
    } else if (contents) {
      if (std::string fault = content_fault(file); !fault.empty()) {
        faults.push_back(std::move(fault));
      }
    }
  }
  if (has(kIndex)) {
    check_shards(model, faults);
  }
  return faults;
}

std::int64_t remove_cached(const fs::path& cache, const CachedModel& model) {
  const CacheLayout layout(cache, {model.name, model.commit});
  const std::vector<FileLock> locks = lock_all(layout, model.text());
  std::set<fs::path> kept;
  bool others = false;
  for (const CachedModel& other : cached_models(cache)) {
    if (other.name == model.name && other.commit != model.commit) {
      others = true;
      for (const CachedFile& file : other.files) {
        kept.insert(file.blob);
      }
    }
  }
  std::int64_t freed = 0;
  try {
    // The name goes first: what is left after an interrupted removal is found by nobody.
    for (const std::string& ref : model.refs) {
      fs::remove(layout.ref(ref));
    }
    fs::remove_all(model.folder);
    std::set<fs::path> gone;
    for (const CachedFile& file : model.files) {
      // A link that leads elsewhere was not made by a download; what it leads to is not ours.
      const bool own = file.blob.parent_path() == layout.blob("").parent_path();
      if (own && !kept.contains(file.blob) && gone.insert(file.blob).second) {
        fs::remove(file.blob);
        freed += std::max<std::int64_t>(file.bytes, 0);
      }
    }
    if (!others) {
      fs::remove_all(layout.folder());
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::Io, fmt::format("cannot remove {}: {}", display_path(error.path1()),
                                           error.code().message()));
  }
  return freed;
}

}  // namespace tunebench::hub
