#pragma once

#include <filesystem>
#include <optional>
#include <utility>

#include "tunebench/base/descriptor.h"

namespace tunebench::outside {

/// A lock between processes on a file, which is made when it is missing and never removed. It ends
/// with the object or its process. On a network file system as good as its flock(2).
class FileLock {
 public:
  enum class Kind { Shared, Exclusive };

  /// nullopt when another process holds it. Errors: Io.
  static std::optional<FileLock> try_lock(const std::filesystem::path& file, Kind kind);
  /// Waits. Errors: Io.
  static FileLock wait(const std::filesystem::path& file, Kind kind);

 private:
  explicit FileLock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  Descriptor descriptor_;
};

}  // namespace tunebench::outside
