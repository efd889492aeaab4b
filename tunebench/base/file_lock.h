#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "tunebench/base/descriptor.h"

namespace tunebench {

/// A lock between processes on a file (flock(2), as huggingface_hub takes them), which is made with
/// its folders when it is missing and never removed: two processes could then hold locks of two
/// files of one name. Where others remove it, only a file that still has its name counts. It ends
/// with the object or its process. On a network file system as good as its flock.
class FileLock {
 public:
  enum class Kind { Shared, Exclusive };
  /// nullopt when another process holds it. Where the file system has no locks it is had at once,
  /// with a warning of the `danger` ("two processes may ..."); without one that is an error.
  /// Errors: Io.
  static std::optional<FileLock> try_lock(const std::filesystem::path& file, Kind kind,
                                          std::string_view danger = {});
  /// Waits. Errors: Io.
  static FileLock wait(const std::filesystem::path& file, Kind kind);

 private:
  explicit FileLock(Descriptor descriptor) : descriptor_(std::move(descriptor)) {}
  Descriptor descriptor_;
};

}  // namespace tunebench
