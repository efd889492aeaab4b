#include "tunebench/model/safetensors_writer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/json.h"

namespace tunebench::model {
namespace {

Error io_error(const std::filesystem::path& path, std::string_view doing, int reason) {
  return {ErrorCode::Io, fmt::format("{}: {}: {}", display_path(path), doing,
                                     std::generic_category().message(reason))};
}

std::string header_text(std::span<const AnnouncedTensor> tensors, std::uint64_t* data_bytes) {
  constexpr std::size_t kAlignment = 8;
  Json header = Json::object();
  header.set("__metadata__", Json::object({{"format", "pt"}}));
  std::set<std::string_view> names;
  std::int64_t place = 0;
  for (const AnnouncedTensor& tensor : tensors) {
    TB_CHECK(names.insert(tensor.name).second);
    std::int64_t bytes = stored_type_bytes(tensor.type);
    Json::Array shape;
    for (const std::int64_t size : tensor.shape) {
      bytes *= size;
      shape.emplace_back(size);
    }
    Json entry = Json::object();
    entry.set("dtype", stored_type_name(tensor.type))
        .set("shape", std::move(shape))
        .set("data_offsets", Json::array({place, place + bytes}));
    header.as_object().emplace_back(tensor.name, std::move(entry));
    place += bytes;
  }
  *data_bytes = static_cast<std::uint64_t>(place);
  std::string text = header.dump();
  text.append((kAlignment - text.size() % kAlignment) % kAlignment, ' ');
  return text;
}

void sync_folder(const std::filesystem::path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);  // NOLINT
  if (descriptor >= 0) {
    ::fsync(descriptor);
    ::close(descriptor);
  }
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::filesystem::path path,
                                     std::span<const AnnouncedTensor> tensors)
    : path_(std::move(path)) {
  const std::string header = header_text(tensors, &expected_);
  std::string name = path_.string() + ".XXXXXX";
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    throw io_error(path_, "cannot be created", errno);
  }
  temporary_ = name;
  try {
    ::fchmod(descriptor_, 0644);
    std::array<std::byte, 8> length{};
    for (std::size_t byte = 0; byte < length.size(); ++byte) {
      length[byte] = static_cast<std::byte>((header.size() >> (8U * byte)) & 0xffU);
    }
    write_all(length);
    write_all(std::as_bytes(std::span(header)));
  } catch (...) {
    discard();
    throw;
  }
}

SafetensorsWriter::~SafetensorsWriter() {
  discard();
}

void SafetensorsWriter::discard() noexcept {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    descriptor_ = -1;
    ::unlink(temporary_.c_str());
  }
}

void SafetensorsWriter::write_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) {
      throw io_error(path_, "cannot be written", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
}

void SafetensorsWriter::append(std::span<const std::byte> bytes) {
  TB_CHECK(descriptor_ >= 0 && bytes.size() <= expected_ - written_);
  write_all(bytes);
  written_ += bytes.size();
}

void SafetensorsWriter::finish() {
  TB_CHECK(descriptor_ >= 0 && written_ == expected_);
  if (::fsync(descriptor_) != 0) {
    throw io_error(path_, "cannot be synced", errno);
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    throw io_error(path_, "cannot be renamed into place", errno);
  }
  ::close(descriptor_);
  descriptor_ = -1;
  sync_folder(path_.has_parent_path() ? path_.parent_path() : ".");
}

}  // namespace tunebench::model
