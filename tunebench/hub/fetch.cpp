#include "tunebench/hub/fetch.h"

#include <algorithm>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/file_content.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/hub/cache.h"
#include "tunebench/hub/internal/blob_writer.h"
#include "tunebench/hub/internal/cache_layout.h"
#include "tunebench/hub/internal/hub_client.h"
#include "tunebench/hub/internal/model_lock.h"

namespace tunebench::hub {

namespace fs = std::filesystem;

namespace {

/// The size of a regular file; -1 when there is none.
std::int64_t size_of(const fs::path& file) {
  std::error_code failure;
  const std::uintmax_t bytes = fs::file_size(file, failure);
  return failure ? -1 : static_cast<std::int64_t>(bytes);
}

/// A model on its way into the cache.
class Fetching {
 public:
  Fetching(const RepoId& model, const FetchOptions& options, FetchProgress& progress)
      : model_(model), options_(options), progress_(progress), layout_(options.cache, model) {}

  FetchResult run();

 private:
  void fetch_all(const std::vector<RemoteFile>& files);
  void fetch_one(HubClient& client, const RemoteFile& file);
  FileLock wait_for_lock(const RemoteFile& file);
  bool is_whole(const RemoteFile& file);
  void transfer(HubClient& client, const RemoteFile& file, BlobWriter& writer);
  void check_space(const std::vector<RemoteFile>& files);
  void publish(const std::vector<RemoteFile>& files);
  void failed(const Error& error);

  RepoId model_;
  const FetchOptions& options_;
  FetchProgress& progress_;
  CacheLayout layout_;
  Listing listing_;
  std::atomic<std::int64_t> came_{0};
  std::mutex guard_;
  std::vector<std::string> failures_;
  std::optional<ErrorCode> code_;
};

/// Refuses what would fill the disk before a byte is fetched.
void Fetching::check_space(const std::vector<RemoteFile>& files) {
  std::int64_t missing = 0;
  for (const RemoteFile& file : files) {
    const fs::path blob = layout_.blob(file.hash);
    if (size_of(blob) != file.bytes) {
      missing += file.bytes - std::max<std::int64_t>(size_of(blob.string() + ".incomplete"), 0);
    }
  }
  std::error_code failure;
  fs::create_directories(layout_.folder() / "blobs", failure);
  if (failure) {
    throw Error(ErrorCode::Io, fmt::format("cannot make {}: {}", display_path(layout_.folder()),
                                           failure.message()));
  }
  struct statvfs about {};
  if (::statvfs(layout_.folder().c_str(), &about) == 0) {
    const auto free = static_cast<std::int64_t>(about.f_bavail * about.f_frsize);
    if (missing > free) {
      throw Error(ErrorCode::Io,
                  fmt::format("{}: needs {} more, but {} has {} free; free some space, or name "
                              "another place with -o",
                              model_.text(), format_bytes(missing), display_path(options_.cache),
                              format_bytes(free)));
    }
  }
}

/// Other processes of any program take the same lock.
FileLock Fetching::wait_for_lock(const RemoteFile& file) {
  bool told = false;
  while (true) {
    std::optional<FileLock> lock =
        try_model_lock(layout_.blob_lock(file.hash), FileLock::Kind::Exclusive);
    if (lock) {
      return std::move(*lock);
    }
    if (!told) {
      progress_.note(fmt::format("{}: another process fetches it; waiting", printable(file.name)));
      told = true;
    }
    if (progress_.stop) {
      throw Error(ErrorCode::Io, fmt::format("{}: given up", printable(file.name)));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

bool Fetching::is_whole(const RemoteFile& file) {
  const fs::path blob = layout_.blob(file.hash);
  if (size_of(blob) != file.bytes) {
    return false;
  }
  if (options_.verify && content_hash(blob, file.hash) != file.hash) {
    progress_.note(fmt::format("{}: is damaged; fetched again", printable(file.name)));
    return false;
  }
  return true;
}

/// Until the file has the promised size.
void Fetching::transfer(HubClient& client, const RemoteFile& file, BlobWriter& writer) {
  Patience patience(options_, progress_, printable(file.name));
  std::int64_t counted = writer.bytes();
  const auto count = [&] {
    progress_.bytes_done += writer.bytes() - counted;
    counted = writer.bytes();
  };
  while (!writer.full()) {
    std::int64_t came = 0;
    const std::int64_t from = writer.bytes();
    bool wrong_range = false;
    HttpAnswer answer = client.get_file(
        listing_.commit, file, from,
        [&](const HttpHead& head) {
          wrong_range = !writer.begin(head);
          count();
          return !wrong_range;
        },
        [&](std::string_view bytes) {
          const bool taken = writer.add(bytes);
          came += static_cast<std::int64_t>(bytes.size());
          count();
          return taken;
        });
    came_ += came;
    if (answer.complete && !writer.full() && !answer.head.length) {
      // Without a length, a cut connection looks like the end of the file.
      answer.complete = false;
      answer.may_retry = true;
      answer.failure = "the connection ended before the file did";
    }
    if (writer.too_long() || (answer.complete && !writer.full())) {
      const std::int64_t bytes = writer.bytes();
      writer.restart();
      count();
      throw Error(
          ErrorCode::Corrupt,
          fmt::format("{}: {}: the hub sent {} than the {} bytes it promised", model_.text(),
                      printable(file.name),
                      bytes >= file.bytes || !answer.complete ? "more" : "less", file.bytes));
    }
    if (wrong_range || answer.head.status == 416) {
      if (from == 0) {
        client.fail(answer, file.name);
      }
      writer.restart();
      count();
    } else if (!answer.complete && !patience.once_more(answer, came)) {
      client.fail(answer, file.name);
    }
  }
}

void Fetching::fetch_one(HubClient& client, const RemoteFile& file) {
  const FileLock lock = wait_for_lock(file);
  const fs::path blob = layout_.blob(file.hash);
  if (is_whole(file)) {
    progress_.bytes_done += file.bytes;
  } else {
    std::error_code ignored;
    fs::remove(blob, ignored);
    BlobWriter writer(blob, file);
    bool resumed = writer.bytes() > 0;
    progress_.bytes_done += writer.bytes();
    transfer(client, file, writer);
    // The fault may lie in what an earlier try left.
    while (!writer.finish()) {
      progress_.bytes_done -= file.bytes;
      if (!resumed) {
        throw Error(ErrorCode::Corrupt,
                    fmt::format("{}: {}: the hub sent other bytes than it promised (wrong hash); "
                                "nothing of them is kept",
                                model_.text(), printable(file.name)));
      }
      resumed = false;
      writer = BlobWriter(blob, file);
      transfer(client, file, writer);
    }
    progress_.note(fmt::format("{} ({})", printable(file.name), format_bytes(file.bytes)));
  }
  ++progress_.files_done;
}

void Fetching::failed(const Error& error) {
  const std::scoped_lock lock(guard_);
  failures_.push_back(error.message());
  code_ = code_.value_or(error.code());
}

/// Several at once; one that fails does not keep others from coming.
void Fetching::fetch_all(const std::vector<RemoteFile>& files) {
  progress_.files += static_cast<int>(files.size());
  for (const RemoteFile& file : files) {
    progress_.bytes += file.bytes;
  }
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    try {
      HubClient client(model_, options_, progress_);
      for (std::size_t i = next++; i < files.size() && !progress_.stop; i = next++) {
        try {
          fetch_one(client, files[i]);
        } catch (const Error& error) {
          failed(error);
        }
      }
    } catch (const Error& error) {
      failed(error);
    }
  };
  std::vector<std::jthread> team;
  const std::size_t size = std::min(files.size(), static_cast<std::size_t>(options_.at_once));
  for (std::size_t i = 0; i < size; ++i) {
    team.emplace_back(work);
  }
  team.clear();
  if (!failures_.empty()) {
    const std::size_t more = failures_.size() - 1;
    throw Error(
        code_.value_or(ErrorCode::Io),
        failures_.front() +
            (more == 0 ? "" : fmt::format(" (and {} more file{})", more, more > 1 ? "s" : "")));
  }
}

/// Links for all files, config.json last: without it nobody takes the folder for a model.
void Fetching::publish(const std::vector<RemoteFile>& files) {
  const fs::path folder = layout_.snapshot(listing_.commit);
  try {
    fs::create_directories(folder);
    std::vector<RemoteFile> order = files;
    std::stable_partition(order.begin(), order.end(),
                          [](const RemoteFile& file) { return file.name != "config.json"; });
    for (const RemoteFile& file : order) {
      const fs::path target = fs::path("../../blobs") / file.hash;
      const fs::path link = folder / file.name;
      std::error_code none;
      if (fs::is_symlink(link, none) && fs::read_symlink(link, none) == target) {
        continue;
      }
      static std::atomic<int> number = 0;  // others of this process may make the same link
      const fs::path made = folder / fmt::format(".{}.{}.{}", file.hash, ::getpid(), ++number);
      fs::remove(made);
      fs::create_symlink(target, made);
      fs::rename(made, link);
    }
  } catch (const fs::filesystem_error& error) {
    throw Error(ErrorCode::Io, fmt::format("cannot make {}: {}", display_path(error.path1()),
                                           error.code().message()));
  }
  if (model_.revision != listing_.commit) {
    write_file_atomically(layout_.ref(model_.revision), listing_.commit);
  }
}

FetchResult Fetching::run() {
  HubClient client(model_, options_, progress_);
  listing_ = client.listing();
  std::vector<RemoteFile> files = chosen_files(listing_);
  std::optional<FileLock> in_use;
  while (!(in_use = try_model_lock(layout_.model_lock(), FileLock::Kind::Shared))) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const auto index = std::ranges::find(files, kIndexName, &RemoteFile::name);
  const bool sharded = index != files.end();
  if (sharded) {
    constexpr std::int64_t kMostIndexBytes = std::int64_t{64} << 20;
    if (index->bytes > kMostIndexBytes) {
      throw Error(ErrorCode::Corrupt, fmt::format("{}: {} has {}", model_.text(), kIndexName,
                                                  format_bytes(index->bytes)));
    }
    check_space({*index});
    fetch_all({*index});
    files.erase(index);
    const std::vector<RemoteFile> shards =
        shards_of(listing_, read_json_file(layout_.blob(listing_.find(kIndexName)->hash)));
    files.insert(files.end(), shards.begin(), shards.end());
  }
  check_space(files);
  fetch_all(files);
  if (sharded) {
    files.push_back(*listing_.find(kIndexName));
  }
  publish(files);
  FetchResult result{.commit = listing_.commit, .folder = layout_.snapshot(listing_.commit)};
  for (const RemoteFile& file : files) {
    result.bytes += file.bytes;
  }
  result.fetched_bytes = came_;
  result.files = static_cast<std::int64_t>(files.size());
  return result;
}

/// What is cached, without asking anybody.
FetchResult offline_result(const RepoId& model, const FetchOptions& options) {
  const std::optional<fs::path> folder = cached_snapshot(options.cache, model);
  if (!folder) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{} is not in {}, and HF_HUB_OFFLINE forbids to fetch it", model.text(),
                            display_path(options.cache)));
  }
  for (const CachedModel& cached : cached_models(options.cache)) {
    if (cached.folder == *folder) {
      const std::vector<std::string> faults = faults_of(cached, options.verify);
      if (!faults.empty()) {
        throw Error(ErrorCode::Corrupt,
                    fmt::format("{}: {}; HF_HUB_OFFLINE forbids to fetch it again", model.text(),
                                faults.front()));
      }
      return {.commit = cached.commit,
              .folder = *folder,
              .bytes = cached.bytes(),
              .fetched_bytes = 0,
              .files = static_cast<std::int64_t>(cached.files.size())};
    }
  }
  return {};
}

}  // namespace

FetchResult fetch_model(const RepoId& model, const FetchOptions& options, FetchProgress& progress) {
  if (options.offline) {
    return offline_result(model, options);
  }
  return Fetching(model, options, progress).run();
}

}  // namespace tunebench::hub
