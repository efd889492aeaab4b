#include "tunebench/measure/kept_log.h"

#include <algorithm>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>

#include "tunebench/base/descriptor.h"
#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/gzip.h"
#include "tunebench/base/log.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"

namespace tunebench::measure {
namespace {

std::string read_part(std::ifstream& stream, std::int64_t from, std::int64_t bytes) {
  std::string part(static_cast<std::size_t>(bytes), '\0');
  stream.clear();
  stream.seekg(from);
  stream.read(part.data(), bytes);
  part.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, stream.gcount())));
  return part;
}

/// The first and the last part, cut at line breaks: half a token would not be known as one.
std::string bounded(std::ifstream& stream, std::int64_t size, std::int64_t most_bytes) {
  if (size <= most_bytes) {
    return read_part(stream, 0, size);
  }
  std::string first = read_part(stream, 0, most_bytes / 2);
  std::string last = read_part(stream, size - most_bytes / 2, most_bytes / 2);
  const std::size_t end = first.rfind('\n');
  first.resize(end == std::string::npos ? 0 : end + 1);
  const std::size_t begin = last.find('\n');
  last.erase(0, begin == std::string::npos ? last.size() : begin + 1);
  const auto cut = size - static_cast<std::int64_t>(first.size() + last.size());
  return first + fmt::format("[{} cut out here]\n", format_bytes(cut)) + last;
}

}  // namespace

std::filesystem::path keep_log(const std::filesystem::path& log, std::int64_t most_bytes) {
  std::ifstream stream(log, std::ios::binary | std::ios::ate);
  std::error_code ignored;
  if (!stream) {
    return {};
  }
  const std::int64_t size = static_cast<std::int64_t>(stream.tellg());
  if (size <= 0) {
    std::filesystem::remove(log, ignored);
    return {};
  }
  std::filesystem::path kept = log;
  kept += ".gz";
  try {
    write_gzip(kept, mask_secrets(bounded(stream, size, most_bytes)));
  } catch (const Error& error) {
    log_warning("the log stays as it is: " + error.message());
    return log;
  }
  std::filesystem::remove(log, ignored);
  return kept;
}

void free_middle(const std::filesystem::path& log, std::int64_t most_bytes) {
  std::error_code failure;
  const std::uintmax_t size = std::filesystem::file_size(log, failure);
  if (failure || static_cast<std::int64_t>(size) <= 2 * most_bytes) {
    return;
  }
  const Descriptor file(::open(log.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) {
    return;
  }
  const std::int64_t begin = most_bytes / 2;
  const std::int64_t end = static_cast<std::int64_t>(size) - most_bytes / 2;
  // What cannot be freed stays: the log is only longer than it need be.
  static_cast<void>(
      ::fallocate(file.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, begin, end - begin));
}

std::string read_kept_log(const std::filesystem::path& file) {
  return file.extension() == ".gz" ? read_gzip(file) : mask_secrets(read_file(file));
}

}  // namespace tunebench::measure
