#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "tunebench/hub/environment.h"
#include "tunebench/hub/repo_id.h"

namespace tunebench::hub {

/// Where from, where to, and how patiently.
struct FetchOptions {
  std::filesystem::path cache;
  std::string endpoint;
  Token token = {};
  bool offline = false;  ///< ask nobody: only what is cached is had
  bool verify = false;   ///< hash also what is there already, and fetch again what is damaged
  int at_once = 4;       ///< files
  int tries = 5;         ///< of a request, each after a longer pause; counted anew after 1 MiB
  std::chrono::milliseconds first_pause{1000};
  std::chrono::seconds longest_wait{300};  ///< a Retry-After beyond it is a failure
  double stall_s = 60.0;                   ///< a connection that brings nothing for so long is cut
};

/// How far it is, for another thread to show.
class FetchProgress {
 public:
  std::atomic<std::int64_t> bytes{0};       ///< of all files that are to be there
  std::atomic<std::int64_t> bytes_done{0};  ///< of them on the disk
  std::atomic<int> files{0};
  std::atomic<int> files_done{0};
  std::atomic<bool> stop{false};  ///< set from outside: give up soon

  void note(std::string line);
  /// What happened since the last call: files that are there, pauses, waiting for others.
  std::vector<std::string> take_notes();

 private:
  std::mutex guard_;
  std::vector<std::string> notes_;
};

struct FetchResult {
  std::string commit;
  std::filesystem::path folder;    ///< the snapshot
  std::int64_t bytes = 0;          ///< of its files
  std::int64_t fetched_bytes = 0;  ///< that came over the network now
  std::int64_t files = 0;
};

/// Makes a model complete in the cache: what is there already stays, what was begun goes on where
/// it stopped. A file gets its name when its size and hash are those that the hub told; two
/// processes fetch it once. The snapshot and the ref appear when all files are there.
/// Errors: NotFound for a model or revision that is not there; InvalidInput where access must be
/// asked for; Unsupported for models without safetensors and without a network when offline;
/// Corrupt for wrong bytes and wrong answers; Io for connections and disks.
FetchResult fetch_model(const RepoId& model, const FetchOptions& options, FetchProgress& progress);

}  // namespace tunebench::hub
