#include "tunebench/hub/internal/file_lock.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/log.h"

namespace tunebench::hub {

namespace {

/// Whether the name still leads to this file: others remove lock files when they are done.
bool is_still_named(const Descriptor& file, const std::filesystem::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(file.get(), &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

[[noreturn]] void cannot_lock(const std::filesystem::path& file, int reason) {
  throw Error(ErrorCode::Io, fmt::format("cannot lock {}: {}", display_path(file),
                                         std::generic_category().message(reason)));
}

}  // namespace

std::optional<FileLock> FileLock::try_to_get(const std::filesystem::path& file, Kind kind) {
  std::error_code failure;
  std::filesystem::create_directories(file.parent_path(), failure);
  while (true) {
    Descriptor opened(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (opened.get() < 0) {
      cannot_lock(file, errno);
    }
    if (::flock(opened.get(), (kind == Kind::Shared ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        return std::nullopt;
      }
      if (errno == EINTR) {
        continue;
      }
      if (errno != ENOLCK && errno != ENOSYS && errno != EOPNOTSUPP) {
        cannot_lock(file, errno);
      }
      log_warning_once(
          fmt::format("{}: this file system has no locks; two processes that fetch one "
                      "model at the same time may disturb each other",
                      display_path(file.parent_path())));
      return FileLock(std::move(opened));
    }
    if (is_still_named(opened, file)) {
      return FileLock(std::move(opened));
    }
  }
}

}  // namespace tunebench::hub
