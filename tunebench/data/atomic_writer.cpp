#include "tunebench/data/atomic_writer.h"

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench::data {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 20U;
constexpr mode_t kUsualMode = 0644;

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
}

}  // namespace

AtomicWriter::AtomicWriter(const std::filesystem::path& path) : path_(path) {
  std::error_code code;
  std::filesystem::create_directories(folder_of(path_), code);
  if (code) {
    throw Error(ErrorCode::Io,
                fmt::format("{}: cannot make its folder: {}", display_path(path_), code.message()));
  }
  temporary_ = path_.string() + ".XXXXXX";
  descriptor_ = ::mkostemp(temporary_.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    fail("cannot be created");
  }
  buffer_.reserve(kBufferBytes);
}

AtomicWriter::~AtomicWriter() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
  }
}

void AtomicWriter::fail(std::string_view what) const {
  throw Error(ErrorCode::Io,
              fmt::format("{}: {}: {}", display_path(path_), what,
                          std::error_code(errno, std::generic_category()).message()));
}

void AtomicWriter::write(std::string_view bytes) {
  written_ += static_cast<std::int64_t>(bytes.size());
  buffer_.append(bytes);
  if (buffer_.size() >= kBufferBytes) {
    flush();
  }
}

void AtomicWriter::flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t count = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (count < 0 && errno != EINTR) {
      fail("cannot be written");
    }
    done += count > 0 ? static_cast<std::size_t>(count) : 0U;
  }
  buffer_.clear();
}

void AtomicWriter::commit() {
  flush();
  // mkostemp makes a private file; a data set may be read by others as far as the umask allows.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(descriptor_, kUsualMode & ~mask) != 0 || ::fsync(descriptor_) != 0) {
    fail("cannot be written");
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail("cannot be put in place");
  }
  ::close(descriptor_);
  descriptor_ = -1;
  const std::string folder = folder_of(path_).string();
  const int folder_descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_descriptor >= 0) {
    ::fsync(folder_descriptor);  // the name itself; the file is whole with or without it
    ::close(folder_descriptor);
  }
}

}  // namespace tunebench::data
