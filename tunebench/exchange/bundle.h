#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tunebench/exchange/import.h"
#include "tunebench/store/store.h"

namespace tunebench::exchange {

/// What went into a bundle.
struct BundleContent {
  std::int64_t runs = 0;
  std::int64_t records = 0;
  std::int64_t logs = 0;
  std::int64_t missing_logs = 0;  ///< named by a record, but not there any more
};

/// Writes runs, what they show, environments and logs to NAME.tar.gz or NAME.tar.zst
/// (docs/file-formats.md), whole or not at all. No runs: all that are not in the trash. A run that
/// measured what another one reuses is in it with those records. Equal content gives equal bytes.
/// Errors: NotFound for a run; those of files.
BundleContent write_bundle(const store::Store& store, const std::vector<std::string>& runs,
                           const std::filesystem::path& file);

/// Takes a bundle into a store; records are known by their ids, so the same one again adds nothing.
/// Logs are put into `log_folder`. A line that is wrong is rejected by name; then nothing is kept
/// unless skip_bad. Errors: Corrupt for an archive that is damaged, holds anything but plain files
/// with safe names, or is larger than any bundle; Unsupported for a newer format.
Imported import_bundle(store::Store& store, const std::filesystem::path& file,
                       const std::filesystem::path& log_folder, bool skip_bad);

}  // namespace tunebench::exchange
