#include "tunebench/exchange/internal/archive.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench::exchange {
namespace {

/// The same for every archive, so that equal content gives equal bytes.
constexpr int kMode = 0644;

struct EntryDeleter {
  void operator()(archive_entry* entry) const { archive_entry_free(entry); }
};

struct ReaderDeleter {
  void operator()(archive* reader) const { archive_read_free(reader); }
};
using Reader = std::unique_ptr<archive, ReaderDeleter>;

std::string why(archive* handle) {
  const char* text = archive_error_string(handle);
  return text == nullptr ? "unknown error" : printable(text);
}

[[noreturn]] void throw_system(std::string_view what, const std::filesystem::path& file) {
  throw Error(ErrorCode::Io, fmt::format("cannot {} {}: {}", what, display_path(file),
                                         std::strerror(errno)));  // NOLINT(concurrency-mt-unsafe)
}

int add_compression(archive* writer, const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  if (name.ends_with(".tar.gz") || name.ends_with(".tgz")) {
    const int result = archive_write_add_filter_gzip(writer);
    // Else gzip's header holds the time of writing.
    return result == ARCHIVE_OK
               ? archive_write_set_filter_option(writer, "gzip", "timestamp", nullptr)
               : result;
  }
  if (name.ends_with(".tar.zst")) {
    return archive_write_add_filter_zstd(writer);
  }
  throw Error(ErrorCode::InvalidInput,
              fmt::format("{}: a bundle is named NAME.tar.gz or NAME.tar.zst", display_path(file)));
}

/// Names that stay below where they are unpacked.
bool is_safe(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\\') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos) {
    return false;
  }
  for (const std::string& part : split(name, '/')) {
    if (part.empty() || part == "." || part == "..") {
      return false;
    }
  }
  return true;
}

std::string checked_name(archive_entry* entry) {
  const char* raw = archive_entry_pathname(entry);
  const std::string name = raw == nullptr ? "" : raw;
  const bool is_link =
      archive_entry_symlink(entry) != nullptr || archive_entry_hardlink(entry) != nullptr;
  if (is_link || archive_entry_filetype(entry) != AE_IFREG) {
    throw Error(ErrorCode::Corrupt,
                fmt::format("entry '{}' is {}; a bundle holds plain files only", excerpt(name),
                            is_link ? "a link" : "no plain file"));
  }
  if (!is_safe(name)) {
    throw Error(ErrorCode::Corrupt,
                fmt::format("entry '{}' would be written outside of its folder", excerpt(name)));
  }
  return name;
}

std::string read_entry(archive* reader, const std::string& name, std::int64_t most) {
  std::string bytes;
  std::array<char, std::size_t{64} * 1024> piece{};
  for (;;) {
    const la_ssize_t count = archive_read_data(reader, piece.data(), piece.size());
    if (count < 0) {
      throw Error(ErrorCode::Corrupt, fmt::format("entry '{}': {}", excerpt(name), why(reader)));
    }
    if (count == 0) {
      return bytes;
    }
    bytes.append(piece.data(), static_cast<std::size_t>(count));
    if (static_cast<std::int64_t>(bytes.size()) > most) {
      throw Error(ErrorCode::Corrupt, fmt::format("entry '{}' is larger than {} when unpacked",
                                                  excerpt(name), format_bytes(most)));
    }
  }
}

Reader open_archive(const std::filesystem::path& file) {
  Reader reader(archive_read_new());
  TB_CHECK(reader != nullptr);
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_format_tar(reader.get());
  constexpr std::size_t kBlock = std::size_t{64} * 1024;
  if (archive_read_open_filename(reader.get(), file.c_str(), kBlock) != ARCHIVE_OK) {
    throw Error(ErrorCode::Corrupt, "this is no .tar.gz or .tar.zst: " + why(reader.get()));
  }
  return reader;
}

void read_entries(archive* reader,
                  const std::function<void(const std::string&, std::string&&)>& take,
                  const ArchiveLimits& limits) {
  std::int64_t total = 0;
  for (std::int64_t count = 0;; ++count) {
    archive_entry* entry = nullptr;
    const int result = archive_read_next_header(reader, &entry);
    if (result == ARCHIVE_EOF) {
      return;
    }
    if (result != ARCHIVE_OK) {
      throw Error(ErrorCode::Corrupt, "damaged or cut off: " + why(reader));
    }
    const std::string name = checked_name(entry);
    if (count == limits.entries) {
      throw Error(ErrorCode::Corrupt, fmt::format("more than {} entries", limits.entries));
    }
    std::string bytes = read_entry(reader, name, limits.entry_bytes);
    total += static_cast<std::int64_t>(bytes.size());
    if (total > limits.total_bytes) {
      throw Error(ErrorCode::Corrupt,
                  "larger than " + format_bytes(limits.total_bytes) + " when unpacked");
    }
    take(name, std::move(bytes));
  }
}

}  // namespace

ArchiveWriter::ArchiveWriter(std::filesystem::path file)
    : file_(std::move(file)), archive_(archive_write_new()) {
  TB_CHECK(archive_ != nullptr);
  try {
    check(add_compression(archive_, file_));
    check(archive_write_set_format_pax_restricted(archive_));
    std::error_code failure;
    if (!file_.parent_path().empty()) {
      std::filesystem::create_directories(file_.parent_path(), failure);
    }
    std::string pattern = file_.string() + ".XXXXXX";
    descriptor_ = ::mkostemp(pattern.data(), O_CLOEXEC);
    if (descriptor_ < 0) {
      throw_system("write", file_);
    }
    temporary_ = pattern;
    check(archive_write_open_fd(archive_, descriptor_));
  } catch (...) {
    archive_write_free(archive_);
    if (descriptor_ >= 0) {
      ::close(descriptor_);
      ::unlink(temporary_.c_str());
    }
    throw;
  }
}

ArchiveWriter::~ArchiveWriter() {
  if (archive_ != nullptr) {
    archive_write_free(archive_);
  }
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    ::unlink(temporary_.c_str());
  }
}

void ArchiveWriter::check(int result) {
  if (result != ARCHIVE_OK) {
    throw Error(result == ARCHIVE_WARN ? ErrorCode::Unsupported : ErrorCode::Io,
                fmt::format("cannot write {}: {}", display_path(file_), why(archive_)));
  }
}

void ArchiveWriter::add(const std::string& name, std::string_view bytes) {
  TB_CHECK(is_safe(name));
  const std::unique_ptr<archive_entry, EntryDeleter> entry(archive_entry_new());
  TB_CHECK(entry != nullptr);
  archive_entry_set_pathname(entry.get(), name.c_str());
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(bytes.size()));
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_perm(entry.get(), kMode);
  archive_entry_set_mtime(entry.get(), 0, 0);
  check(archive_write_header(archive_, entry.get()));
  if (archive_write_data(archive_, bytes.data(), bytes.size()) !=
      static_cast<la_ssize_t>(bytes.size())) {
    check(ARCHIVE_FATAL);
  }
}

void ArchiveWriter::finish() {
  check(archive_write_close(archive_));
  if (::fchmod(descriptor_, kMode) != 0 || ::fsync(descriptor_) != 0 ||
      ::rename(temporary_.c_str(), file_.c_str()) != 0) {
    throw_system("write", file_);
  }
  ::close(descriptor_);
  descriptor_ = -1;
}

void read_archive(const std::filesystem::path& file,
                  const std::function<void(const std::string&, std::string&&)>& take,
                  const ArchiveLimits& limits) {
  with_context(display_path(file), [&] {
    const Reader reader = open_archive(file);
    read_entries(reader.get(), take, limits);
  });
}

}  // namespace tunebench::exchange
