#include "tunebench/base/file_lock.h"

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/log.h"

namespace tunebench {
namespace {

[[noreturn]] void throw_lock_error(const std::filesystem::path& file, int reason) {
  throw Error(ErrorCode::Io, fmt::format("cannot lock {}: {}", display_path(file),
                                         std::generic_category().message(reason)));
}

Descriptor open_lock(const std::filesystem::path& file) {
  std::error_code problem;
  std::filesystem::create_directories(file.parent_path(), problem);
  Descriptor descriptor(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (descriptor.get() < 0) {
    throw_lock_error(file, errno);
  }
  return descriptor;
}

bool is_still_named(const Descriptor& file, const std::filesystem::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file.get(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// 0, or the error number.
int lock(const Descriptor& file, FileLock::Kind kind, int flags) {
  const int how = (kind == FileLock::Kind::Shared ? LOCK_SH : LOCK_EX) | flags;
  int failure = 0;
  do {
    failure = ::flock(file.get(), how) == 0 ? 0 : errno;
  } while (failure == EINTR);
  return failure;
}

bool has_no_locks(int failure) {
  return failure == ENOLCK || failure == ENOSYS || failure == EOPNOTSUPP;
}

}  // namespace

std::optional<FileLock> FileLock::try_lock(const std::filesystem::path& file, Kind kind,
                                           std::string_view danger) {
  while (true) {
    Descriptor descriptor = open_lock(file);
    const int failure = lock(descriptor, kind, LOCK_NB);
    if (failure == EWOULDBLOCK) {
      return std::nullopt;
    }
    if (has_no_locks(failure) && !danger.empty()) {
      log_warning_once(fmt::format("{}: this file system has no locks; {}",
                                   display_path(file.parent_path()), danger));
      return FileLock(std::move(descriptor));
    }
    if (failure != 0) {
      throw_lock_error(file, failure);
    }
    if (is_still_named(descriptor, file)) {
      return FileLock(std::move(descriptor));
    }
  }
}

FileLock FileLock::wait(const std::filesystem::path& file, Kind kind) {
  while (true) {
    Descriptor descriptor = open_lock(file);
    if (const int failure = lock(descriptor, kind, 0); failure != 0) {
      throw_lock_error(file, failure);
    }
    if (is_still_named(descriptor, file)) {
      return FileLock(std::move(descriptor));
    }
  }
}

}  // namespace tunebench
