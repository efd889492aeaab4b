#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace tunebench {

/// Errors of all functions here: Io, or NotFound for a missing file, with the path and the
/// operating system's reason. Devices and pipes are not read.

/// Whether `path` names anything, be it a link that leads nowhere: what is wrong with it shows on
/// reading. Never throws.
bool is_there(const std::filesystem::path& path);

/// The whole file. Errors: also Io above 1 GiB.
std::string read_file(const std::filesystem::path& path);

/// Writes to a temporary name beside `path`, syncs, then renames: readers see the old file or the
/// whole new one. Makes missing parent folders.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// A file mapped read-only. Non-copyable, movable; the mapping ends with the object.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  [[nodiscard]] std::span<const std::byte> bytes() const { return {data_, size_}; }
  [[nodiscard]] std::string_view text() const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  /// Tells the system that a range was read, so that it does not count as resident memory.
  void release_pages(std::size_t offset, std::size_t length) const noexcept;

 private:
  std::filesystem::path path_;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// A new folder under the system's temporary folder, removed with the object.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(std::string_view prefix = "tunebench-");
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Where this program itself lies, for starting it again as a child.
std::filesystem::path own_executable();

/// A path as UTF-8 text for messages and records; bytes that are not UTF-8 are shown as \xNN.
std::string display_path(const std::filesystem::path& path);

}  // namespace tunebench
