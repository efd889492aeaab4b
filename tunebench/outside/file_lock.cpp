#include "tunebench/outside/file_lock.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench::outside {
namespace {

[[noreturn]] void throw_lock_error(const std::filesystem::path& file) {
  throw Error(ErrorCode::Io,
              "cannot lock " + display_path(file) + ": " + std::generic_category().message(errno));
}

Descriptor open_lock(const std::filesystem::path& file) {
  std::error_code problem;
  std::filesystem::create_directories(file.parent_path(), problem);
  Descriptor descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (descriptor.get() < 0) {
    throw_lock_error(file);
  }
  return descriptor;
}

}  // namespace

std::optional<FileLock> FileLock::try_lock(const std::filesystem::path& file, Kind kind) {
  Descriptor descriptor = open_lock(file);
  const int how = kind == Kind::Shared ? LOCK_SH : LOCK_EX;
  if (::flock(descriptor.get(), how | LOCK_NB) == 0) {
    return FileLock(std::move(descriptor));
  }
  if (errno != EWOULDBLOCK) {
    throw_lock_error(file);
  }
  return std::nullopt;
}

FileLock FileLock::wait(const std::filesystem::path& file, Kind kind) {
  Descriptor descriptor = open_lock(file);
  while (::flock(descriptor.get(), kind == Kind::Shared ? LOCK_SH : LOCK_EX) != 0) {
    if (errno != EINTR) {
      throw_lock_error(file);
    }
  }
  return FileLock(std::move(descriptor));
}

}  // namespace tunebench::outside
