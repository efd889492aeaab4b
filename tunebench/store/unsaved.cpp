#include "tunebench/store/internal/unsaved.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench::store {
namespace {

/// An open file under an exclusive lock; both end with the object.
class LockedFile {
 public:
  LockedFile(const std::filesystem::path& path, int flags) {
    while (true) {
      descriptor_ = open(path.c_str(), flags | O_CLOEXEC, 0666);  // NOLINT: open(2) is variadic
      if (descriptor_ < 0) {
        return;
      }
      struct stat state {};
      if (flock(descriptor_, LOCK_EX) != 0 || fstat(descriptor_, &state) != 0) {
        close(descriptor_);
        descriptor_ = -1;
        return;
      }
      if (state.st_nlink > 0) {
        return;
      }
      // Another process took the lines and removed the file while this one waited for the lock.
      close(descriptor_);
    }
  }
  ~LockedFile() {
    if (descriptor_ >= 0) {
      close(descriptor_);
    }
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }

  /// All of `bytes` or, as far as the system lets it, nothing.
  bool append(const std::string& bytes) const {
    const off_t before = lseek(descriptor_, 0, SEEK_END);
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count = write(descriptor_, bytes.data() + done, bytes.size() - done);
      if (count <= 0) {
        break;
      }
      done += static_cast<std::size_t>(count);
    }
    if (done == bytes.size() && fsync(descriptor_) == 0) {
      return true;
    }
    static_cast<void>(ftruncate(descriptor_, before) == 0);
    return false;
  }

 private:
  int descriptor_ = -1;
};

bool append_line(const std::filesystem::path& path, const std::string& line) {
  const LockedFile file(path, O_WRONLY | O_CREAT);
  return file.is_open() && file.append(line + "\n");
}

}  // namespace

std::filesystem::path keep_unsaved(const std::filesystem::path& file, const std::string& line) {
  std::error_code failure;
  if (file.has_parent_path()) {
    std::filesystem::create_directories(file.parent_path(), failure);
  }
  const std::filesystem::path elsewhere =
      std::filesystem::temp_directory_path(failure) / file.filename();
  for (const std::filesystem::path& path : {file, elsewhere}) {
    if (append_line(path, line)) {
      return path;
    }
  }
  return {};
}

void take_unsaved(const std::filesystem::path& file,
                  const std::function<void(const std::vector<std::string>&)>& take) {
  const LockedFile locked(file, O_RDWR);
  if (!locked.is_open()) {
    return;
  }
  std::vector<std::string> lines = split(read_file(file), '\n');
  std::erase(lines, "");
  take(lines);
  std::filesystem::remove(file);
}

}  // namespace tunebench::store
