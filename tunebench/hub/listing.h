#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/hub/repo_id.h"

namespace tunebench::hub {

/// One file that a hub offers.
struct RemoteFile {
  std::string name;  ///< "config.json"
  std::int64_t bytes = 0;
  std::string hash;  ///< of a large file (Git LFS) SHA-256, of others Git's name of the blob
  [[nodiscard]] bool large() const { return hash.size() == 64; }
};

/// One commit of a model on a hub.
struct Listing {
  RepoId model;
  std::string commit;
  std::vector<RemoteFile> files;

  /// nullptr when there is none.
  [[nodiscard]] const RemoteFile* find(std::string_view name) const;
};

/// Reads the answer of /api/models/NAME/revision/REVISION?blobs=true.
/// Errors: Corrupt for what a hub does not answer: no commit, names that lead out of the folder
/// ("../x", "/x"), sizes and hashes that are none; `origin` names the hub in messages.
Listing parse_listing(const Json& answer, const RepoId& model, std::string_view origin);

/// The files that fine-tuning needs, without the shards: config, tokenizer, weights in safetensors
/// or their index, the model card. Nothing of what lies in folders, code, or other formats.
/// Errors: Unsupported for a model with none of the weights: only pytorch_model.bin (and how to
/// convert), an adapter, or GGUF.
std::vector<RemoteFile> chosen_files(const Listing& listing);

/// The shards that model.safetensors.index.json names.
/// Errors: Corrupt for names that are no shards of this model.
std::vector<RemoteFile> shards_of(const Listing& listing, const Json& index);

inline constexpr std::string_view kIndexName = "model.safetensors.index.json";

}  // namespace tunebench::hub
