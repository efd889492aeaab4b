#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct archive;

namespace tunebench::exchange {

/// Writes a tar archive, compressed as the ending of its name says, beside its place; it appears
/// there, whole, with finish. Equal entries give equal bytes. Errors of all members: Io; the
/// constructor also InvalidInput for another ending, Unsupported for one this libarchive lacks.
class ArchiveWriter {
 public:
  /// file: NAME.tar.gz, NAME.tgz or NAME.tar.zst
  explicit ArchiveWriter(std::filesystem::path file);
  ~ArchiveWriter();
  ArchiveWriter(const ArchiveWriter&) = delete;
  ArchiveWriter& operator=(const ArchiveWriter&) = delete;

  void add(const std::string& name, std::string_view bytes);
  void finish();

 private:
  void check(int result);

  std::filesystem::path file_;
  std::filesystem::path temporary_;
  int descriptor_ = -1;
  ::archive* archive_ = nullptr;
};

/// What is unpacked at most: an archive of a few MB can hold a TB of zeros.
struct ArchiveLimits {
  std::int64_t entries = 10'000'000;
  std::int64_t entry_bytes = std::int64_t{64} << 20;
  std::int64_t total_bytes = std::int64_t{64} << 30;
};

/// Calls `take` with the name and the bytes of each entry, in the order of the archive. Nothing is
/// written anywhere. Errors: NotFound, Io; Corrupt naming the entry for anything but a plain file
/// with a relative name without "..", for an archive that is cut off, and above the limits.
void read_archive(const std::filesystem::path& file,
                  const std::function<void(const std::string& name, std::string&& bytes)>& take,
                  const ArchiveLimits& limits = {});

}  // namespace tunebench::exchange
