#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "tunebench/base/descriptor.h"
#include "tunebench/hub/http.h"
#include "tunebench/hub/listing.h"

namespace tunebench::hub {

/// The beginning of a blob on the disk, which grows: BLOB.incomplete. Its caller holds the lock.
class BlobWriter {
 public:
  /// Opens what an earlier try left. Errors: Io.
  BlobWriter(std::filesystem::path blob, const RemoteFile& file);

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] bool full() const { return bytes_ == promised_; }

  /// Whether the body that comes goes on where the file ends. A body that begins anew is taken,
  /// too, and the file with it.
  bool begin(const HttpHead& head);
  /// False for more bytes than were promised. Errors: Io when the disk is full.
  bool add(std::string_view bytes);
  [[nodiscard]] bool too_long() const { return too_long_; }
  /// Forgets all. Errors: Io.
  void restart();
  /// Hashes the file, and gives it its name. False when it is another content than promised; then
  /// nothing is left of it. Errors: Io.
  bool finish();

 private:
  std::filesystem::path blob_;
  std::filesystem::path path_;
  std::string hash_;
  std::int64_t promised_;
  std::int64_t bytes_ = 0;
  bool too_long_ = false;
  Descriptor descriptor_;
};

/// The hash that a file's name as a blob promises, of the same kind.
std::string content_hash(const std::filesystem::path& path, const std::string& like);

}  // namespace tunebench::hub
