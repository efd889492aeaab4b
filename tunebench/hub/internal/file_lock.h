#pragma once

#include <filesystem>
#include <optional>

#include "tunebench/base/descriptor.h"

namespace tunebench::hub {

/// An flock that ends with the object, as huggingface_hub takes them. The file stays: removing it
/// would let two processes hold locks of two files of one name.
class FileLock {
 public:
  enum class Kind { Shared, Exclusive };

  /// nullopt when another process has it. Makes missing folders. On a file system without such
  /// locks it is had at once. Errors: Io.
  static std::optional<FileLock> try_to_get(const std::filesystem::path& file, Kind kind);

 private:
  explicit FileLock(Descriptor file) : file_(std::move(file)) {}
  Descriptor file_;
};

}  // namespace tunebench::hub
