#include "tunebench/hub/internal/blob_writer.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/text.h"

namespace tunebench::hub {

namespace {

[[noreturn]] void cannot_write(const std::filesystem::path& path, int reason) {
  const bool full = reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
  throw Error(ErrorCode::Io,
              fmt::format("cannot write {}: {}{}", display_path(path),
                          std::generic_category().message(reason),
                          full ? "; free some space, then the same command goes on" : ""));
}

}  // namespace

std::string content_hash(const std::filesystem::path& path, const std::string& like) {
  constexpr std::size_t kShaDigitsOfName = 64;
  return like.size() == kShaDigitsOfName ? sha256_file_hex(path) : git_blob_file_hex(path);
}

BlobWriter::BlobWriter(std::filesystem::path blob, const RemoteFile& file)
    : blob_(std::move(blob)), path_(blob_), hash_(file.hash), promised_(file.bytes) {
  path_ += ".incomplete";
  std::error_code failure;
  std::filesystem::create_directories(path_.parent_path(), failure);
  descriptor_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  struct stat about {};
  if (descriptor_.get() < 0 || ::fstat(descriptor_.get(), &about) != 0) {
    cannot_write(path_, errno);
  }
  bytes_ = about.st_size;
  if (bytes_ > promised_) {
    restart();
  }
}

bool BlobWriter::begin(const HttpHead& head) {
  if (head.status == 206) {
    return head.range_begin == bytes_ && head.range_total.value_or(promised_) == promised_;
  }
  if (bytes_ > 0) {
    restart();
  }
  return true;
}

bool BlobWriter::add(std::string_view bytes) {
  if (static_cast<std::int64_t>(bytes.size()) > promised_ - bytes_) {
    too_long_ = true;
    return false;
  }
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_.get(), bytes.data(), bytes.size(), bytes_);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      cannot_write(path_, written == 0 ? ENOSPC : errno);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    bytes_ += written;
  }
  return true;
}

void BlobWriter::restart() {
  bytes_ = 0;
  too_long_ = false;
  if (::ftruncate(descriptor_.get(), 0) != 0) {
    cannot_write(path_, errno);
  }
}

bool BlobWriter::finish() {
  if (::fsync(descriptor_.get()) != 0) {
    cannot_write(path_, errno);
  }
  if (content_hash(path_, hash_) != hash_) {
    restart();
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    return false;
  }
  if (!descriptor_.close() || ::rename(path_.c_str(), blob_.c_str()) != 0) {
    cannot_write(blob_, errno);
  }
  return true;
}

}  // namespace tunebench::hub
