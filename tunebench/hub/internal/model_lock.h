#pragma once

#include <filesystem>
#include <optional>

#include "tunebench/base/file_lock.h"

namespace tunebench::hub {

/// A lock of the cache, as huggingface_hub takes them. A cache may lie where there are no locks.
inline std::optional<FileLock> try_model_lock(const std::filesystem::path& file,
                                              FileLock::Kind kind) {
  return FileLock::try_lock(file, kind,
                            "two processes that fetch one model at the same time may disturb each "
                            "other");
}

}  // namespace tunebench::hub
