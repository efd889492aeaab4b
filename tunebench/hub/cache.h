#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tunebench/hub/repo_id.h"

namespace tunebench::hub {

/// The layout that huggingface_hub and transformers read:
///   CACHE/models--org--name/blobs/HASH                a file, named by its content
///   CACHE/models--org--name/snapshots/COMMIT/NAME     a link to it
///   CACHE/models--org--name/refs/REVISION             the commit
///   CACHE/.locks/models--org--name/HASH.lock          flock of who writes that blob

/// The folder of a cached model; nullopt unless its config.json is there.
std::optional<std::filesystem::path> cached_snapshot(const std::filesystem::path& cache,
                                                     const RepoId& model);

/// One file of a snapshot.
struct CachedFile {
  std::string name;            ///< "config.json"
  std::filesystem::path blob;  ///< what the link leads to, there or not
  std::int64_t bytes = -1;     ///< -1: not there
};

/// One commit of a model in a cache.
struct CachedModel {
  std::string name;  ///< "org/name"
  std::string commit;
  std::vector<std::string> refs;  ///< branches and tags that lead to it
  std::filesystem::path folder;
  std::vector<CachedFile> files;

  [[nodiscard]] std::int64_t bytes() const;
  /// "org/name" when that names this commit, else with "@" and a ref or the commit.
  [[nodiscard]] std::string text() const;
};

/// What a cache holds, by name; empty when there is no cache. Errors: Io.
std::vector<CachedModel> cached_models(const std::filesystem::path& cache);

/// What is wrong with the files of a cached model: links that lead nowhere, shards that
/// model.safetensors.index.json names and that are not there, no config.json, no weights and, with
/// `contents`, files whose content is not what their name says (their SHA-256, or Git's hash).
/// One line each. Reads the files only with `contents`. Errors: Io.
std::vector<std::string> faults_of(const CachedModel& model, bool contents);

/// Removes a commit, and the blobs that no other commit of the model has; the last one takes the
/// whole folder with it. Returns the bytes that are free now.
/// Errors: Unsupported while another process fetches the model; Io.
std::int64_t remove_cached(const std::filesystem::path& cache, const CachedModel& model);

}  // namespace tunebench::hub
