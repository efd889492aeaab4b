#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tunebench::data {

/// Writes a file too large for memory: bytes go to a temporary name beside `path`, and commit()
/// syncs and renames it. Without commit() nothing is left. Makes missing parent folders.
/// Errors: Io with the path and the operating system's reason.
class AtomicWriter {
 public:
  explicit AtomicWriter(const std::filesystem::path& path);
  ~AtomicWriter();
  AtomicWriter(const AtomicWriter&) = delete;
  AtomicWriter& operator=(const AtomicWriter&) = delete;

  void write(std::string_view bytes);
  void commit();
  [[nodiscard]] std::int64_t bytes_written() const { return written_; }

 private:
  void flush();
  [[noreturn]] void fail(std::string_view what) const;

  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
  std::string buffer_;
  std::int64_t written_ = 0;
};

}  // namespace tunebench::data
