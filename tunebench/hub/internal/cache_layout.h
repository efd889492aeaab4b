#pragma once

#include <filesystem>
#include <string>

#include "tunebench/hub/repo_id.h"

namespace tunebench::hub {

/// Paths of one model in a cache.
struct CacheLayout {
  CacheLayout(std::filesystem::path cache_folder, const RepoId& model)
      : cache(std::move(cache_folder)), folder_name(model.folder_name()) {}

  std::filesystem::path cache;
  std::string folder_name;

  [[nodiscard]] std::filesystem::path folder() const { return cache / folder_name; }
  [[nodiscard]] std::filesystem::path blob(const std::string& hash) const {
    return folder() / "blobs" / hash;
  }
  [[nodiscard]] std::filesystem::path snapshot(const std::string& commit) const {
    return folder() / "snapshots" / commit;
  }
  [[nodiscard]] std::filesystem::path ref(const std::string& revision) const {
    return folder() / "refs" / revision;
  }
  /// flock of who writes that blob, for other programs, too.
  [[nodiscard]] std::filesystem::path blob_lock(const std::string& hash) const {
    return cache / ".locks" / folder_name / (hash + ".lock");
  }
  /// Shared by those of us who fetch the model, held alone by who removes it.
  [[nodiscard]] std::filesystem::path model_lock() const {
    return cache / ".locks" / folder_name / "tunebench.lock";
  }
};

}  // namespace tunebench::hub
