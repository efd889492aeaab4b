#include "tunebench/base/files.h"

#include <atomic>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tunebench/base/descriptor.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench {
namespace {

[[noreturn]] void throw_refused(std::string_view what, const std::filesystem::path& path,
                                int reason) {
  const bool missing = reason == ENOENT || reason == ENOTDIR;
  throw Error(missing ? ErrorCode::NotFound : ErrorCode::Io,
              fmt::format("cannot {} {}: {}", what, display_path(path),
                          std::generic_category().message(reason)));
}

/// As mmap's companions want it; they write nothing.
void* address(const std::byte* data) {
  return const_cast<std::byte*>(data);  // NOLINT(cppcoreguidelines-pro-type-const-cast): see above
}

/// Texts and tables of names; weights and datasets are mapped.
constexpr std::size_t kLargestReadWhole = std::size_t{1} << 30U;

struct Opened {
  Descriptor file;
  std::size_t size;
};

Opened open_for_reading(const std::filesystem::path& path) {
  // Without O_NONBLOCK, opening a pipe waits for a writer.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    throw_refused("read", path, errno);
  }
  struct stat about {};
  const int reason = ::fstat(file.get(), &about) != 0 ? errno : S_ISDIR(about.st_mode) ? EISDIR : 0;
  if (reason != 0) {
    throw_refused("read", path, reason);
  }
  if (!S_ISREG(about.st_mode)) {
    throw Error(ErrorCode::Io,
                fmt::format("cannot read {}: a device or pipe, not a file", display_path(path)));
  }
  return {std::move(file), static_cast<std::size_t>(about.st_size)};
}

void check_size(const std::filesystem::path& path, std::size_t bytes) {
  if (bytes > kLargestReadWhole) {
    throw Error(ErrorCode::Io,
                fmt::format("cannot read {}: it has {}, more than the {} of a file of its kind",
                            display_path(path), format_bytes(static_cast<std::int64_t>(bytes)),
                            format_bytes(kLargestReadWhole)));
  }
}

/// 0 or the reason.
int write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) {
        continue;
      }
      return errno;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

/// Makes a rename in `folder` last through a power cut. Not every file system can; that is no
/// reason to fail.
void sync_folder(const std::filesystem::path& folder) {
  const Descriptor open(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (open.get() >= 0) {
    ::fsync(open.get());
  }
}

/// 0 or the reason.
int write_and_rename(const std::filesystem::path& temporary, const std::filesystem::path& path,
                     std::string_view bytes) {
  Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) {
    return errno;
  }
  int reason = write_all(file.get(), bytes);
  if (reason == 0 && ::fsync(file.get()) != 0) {
    reason = errno;
  }
  if (!file.close() && reason == 0) {
    reason = errno;
  }
  if (reason == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) {
    reason = errno;
  }
  if (reason != 0) {
    ::unlink(temporary.c_str());
  }
  return reason;
}

}  // namespace

bool is_there(const std::filesystem::path& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

std::string read_file(const std::filesystem::path& path) {
  const Opened opened = open_for_reading(path);
  check_size(path, opened.size);
  // The size is a guess: files in /proc say 0, and a file may grow while it is read.
  std::string bytes(opened.size + 1, '\0');
  std::size_t used = 0;
  while (true) {
    if (used == bytes.size()) {
      check_size(path, used);
      bytes.resize(bytes.size() * 2 + 4096);
    }
    const ssize_t got = ::read(opened.file.get(), bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno != EINTR) {
      throw_refused("read", path, errno);
    }
    if (got == 0) {
      bytes.resize(used);
      return bytes;
    }
    used += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
}

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    throw Error(ErrorCode::Io,
                fmt::format("cannot make folder {}: {}", display_path(folder), failure.message()));
  }
  static std::atomic<int> counter = 0;
  std::filesystem::path temporary = path;
  temporary += fmt::format(".{}-{}.tmp", ::getpid(), counter.fetch_add(1));
  const int reason = write_and_rename(temporary, path, bytes);
  if (reason != 0) {
    throw Error(ErrorCode::Io, fmt::format("cannot write {}: {}", display_path(path),
                                           std::generic_category().message(reason)));
  }
  sync_folder(folder);
}

MappedFile::MappedFile(const std::filesystem::path& path) : path_(path) {
  const Opened opened = open_for_reading(path);
  size_ = opened.size;
  if (size_ == 0) {
    return;
  }
  void* memory = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, opened.file.get(), 0);
  if (memory == MAP_FAILED) {  // NOLINT(cppcoreguidelines-pro-type-cstyle-cast): the C macro
    throw_refused("map", path, errno);
  }
  data_ = static_cast<const std::byte*>(memory);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(address(data_), size_);
  }
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

std::string_view MappedFile::text() const {
  return {reinterpret_cast<const char*>(data_), size_};  // NOLINT: bytes seen as characters
}

void MappedFile::release_pages(std::size_t offset, std::size_t length) const noexcept {
  const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t end = length > size_ || offset > size_ - length ? size_ : offset + length;
  // Only pages that lie wholly in the range; the file's last page may be a part of one.
  const std::size_t first = (offset + page - 1) / page * page;
  const std::size_t last = end == size_ ? end : end / page * page;
  if (data_ != nullptr && first < last) {
    ::madvise(address(data_ + first), last - first, MADV_DONTNEED);
  }
}

TemporaryFolder::TemporaryFolder(std::string_view prefix) {
  std::error_code failure;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(failure);
  std::string name = (parent / fmt::format("{}XXXXXX", prefix)).string();
  if (failure || ::mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::Io,
                fmt::format("cannot make a temporary folder {}: {}", printable(name),
                            failure ? failure.message() : std::generic_category().message(errno)));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path own_executable() {
  std::error_code failure;
  std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (failure) {
    throw Error(ErrorCode::Io, "cannot read /proc/self/exe: " + failure.message());
  }
  return path;
}

std::string display_path(const std::filesystem::path& path) {
  return printable(path.string());
}

}  // namespace tunebench
