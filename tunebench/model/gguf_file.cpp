#include "tunebench/model/gguf_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tunebench/base/text.h"

namespace tunebench::model {
namespace {

enum : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

/// Bytes of one value, at least: a string has its length, an array element type and length.
constexpr std::array<std::uint64_t, 13> kLeastBytes = {1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8};
constexpr std::uint64_t kLeastEntryBytes = 8 + 4 + 1;       // key length, type, value
constexpr std::uint64_t kLeastTensorBytes = 8 + 4 + 4 + 8;  // name length, dimensions, type, offset
constexpr std::uint32_t kMostDimensions = 4;
constexpr int kDeepestArray = 3;

bool is_integer(std::uint32_t type) {
  return type <= kI32 || type == kU64 || type == kI64;
}

}  // namespace

/// Reads forward; never past the end.
class GgufFile::Cursor {
 public:
  Cursor(const GgufFile& file, std::size_t place) : file_(file), place_(place) {}

  [[nodiscard]] std::size_t place() const { return place_; }
  [[nodiscard]] std::uint64_t left() const { return file_.file_.bytes().size() - place_; }

  std::uint64_t number(std::size_t bytes, std::string_view what) {
    need(bytes, what);
    std::uint64_t value = 0;
    for (std::size_t byte = 0; byte < bytes; ++byte) {
      value |= std::to_integer<std::uint64_t>(file_.file_.bytes()[place_ + byte]) << (8U * byte);
    }
    place_ += bytes;
    return value;
  }
  std::uint32_t u32(std::string_view what) { return static_cast<std::uint32_t>(number(4, what)); }
  std::uint64_t u64(std::string_view what) { return number(8, what); }

  std::string_view text(std::string_view what) {
    const std::uint64_t length = u64(what);
    need(length, what);
    const std::string_view found = file_.file_.text().substr(place_, length);
    place_ += length;
    return found;
  }

  /// A count of things that take at least `least` bytes each.
  std::uint64_t count(std::uint64_t least, std::string_view what) {
    const std::uint64_t found = u64(what);
    check_count(found, least, what);
    return found;
  }

  void check_count(std::uint64_t count, std::uint64_t least, std::string_view what) const {
    if (count > left() / least) {
      throw file_.corrupt(
          fmt::format("{} counts {}, but only {} bytes follow", what, count, left()));
    }
  }

  std::uint32_t value_type(std::string_view what) {
    const std::uint32_t type = u32(what);
    if (type >= kLeastBytes.size()) {
      throw file_.corrupt(fmt::format("{} has the unknown type {}", what, type));
    }
    return type;
  }

  void skip_value(std::uint32_t type, std::string_view what, int depth = 0) {
    if (type == kString) {
      text(what);
    } else if (type == kArray) {
      skip_array(what, depth);
    } else {
      need(kLeastBytes.at(type), what);
      place_ += kLeastBytes.at(type);
    }
  }

  std::int64_t integer(std::uint32_t type, std::string_view what) {
    const std::size_t bytes = kLeastBytes.at(type);
    const std::uint64_t raw = number(bytes, what);
    if (type == kU64 &&
        raw > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      throw file_.corrupt(fmt::format("{} is {}, which is too large", what, raw));
    }
    if (type == kI8 || type == kI16 || type == kI32) {
      const unsigned unused = 64U - 8U * static_cast<unsigned>(bytes);
      return std::bit_cast<std::int64_t>(raw << unused) >> unused;  // keeps the sign
    }
    return std::bit_cast<std::int64_t>(raw);
  }

 private:
  void need(std::uint64_t bytes, std::string_view what) const {
    if (bytes > left()) {
      throw file_.corrupt(
          fmt::format("is cut off in {}: {} bytes are due, {} follow", what, bytes, left()));
    }
  }

  void skip_array(std::string_view what, int depth) {
    if (depth == kDeepestArray) {
      throw file_.corrupt(fmt::format("{} nests arrays deeper than {}", what, kDeepestArray));
    }
    const std::uint32_t element = value_type(what);
    const std::uint64_t length = count(kLeastBytes.at(element), what);
    if (element != kString && element != kArray) {
      place_ += length * kLeastBytes.at(element);
      return;
    }
    for (std::uint64_t i = 0; i < length; ++i) {
      skip_value(element, what, depth + 1);
    }
  }

  const GgufFile& file_;
  std::size_t place_;
};

Error GgufFile::corrupt(std::string_view problem) const {
  return {ErrorCode::Corrupt, fmt::format("{}: {}", label_, problem)};
}

Error GgufFile::unsupported(std::string_view problem) const {
  return {ErrorCode::Unsupported, fmt::format("{}: {}", label_, problem)};
}

Error GgufFile::wrong_type(std::string_view key, std::string_view expected) const {
  return corrupt(fmt::format("metadata '{}' is not {}", printable(key), expected));
}

GgufFile::GgufFile(const std::filesystem::path& path) : file_(path), label_(display_path(path)) {
  constexpr std::uint64_t kDefaultAlignment = 32;
  constexpr std::uint64_t kLargestAlignment = 65536;
  if (!file_.text().starts_with("GGUF")) {
    throw corrupt("is not a GGUF file: it does not start with GGUF");
  }
  Cursor cursor(*this, 4);
  const std::uint32_t version = cursor.u32("the version");
  if (version != 2 && version != 3) {
    const bool swapped = version == 0x02000000U || version == 0x03000000U;
    throw unsupported(swapped ? "is big-endian; only little-endian GGUF files are read"
                              : fmt::format("is of GGUF version {}; 2 and 3 are read", version));
  }
  const std::uint64_t tensors = cursor.u64("the number of tensors");
  const std::uint64_t entries = cursor.count(kLeastEntryBytes, "the number of metadata entries");
  cursor.check_count(tensors, kLeastTensorBytes, "the number of tensors");
  const std::uint64_t stated = read_metadata(cursor, entries);
  const std::uint64_t alignment = stated == 0 ? kDefaultAlignment : stated;
  if (!std::has_single_bit(alignment) || alignment > kLargestAlignment) {
    throw corrupt(
        fmt::format("metadata 'general.alignment' is {}, expected a power of two up to {}",
                    alignment, kLargestAlignment));
  }
  read_tensors(cursor, tensors, alignment);
}

/// Returns general.alignment, or 0.
std::uint64_t GgufFile::read_metadata(Cursor& cursor, std::uint64_t count) {
  for (std::uint64_t entry = 0; entry < count; ++entry) {
    const std::string_view key = cursor.text("a metadata key");
    const std::string what = fmt::format("metadata '{}'", printable(key));
    const std::uint32_t type = cursor.value_type(what);
    if (!values_.emplace(key, Value{type, cursor.place()}).second) {
      throw corrupt(what + " stands there twice");
    }
    cursor.skip_value(type, what);
  }
  const std::optional<std::int64_t> alignment = integer("general.alignment");
  if (alignment && *alignment <= 0) {
    throw corrupt(fmt::format("metadata 'general.alignment' is {}", *alignment));
  }
  return static_cast<std::uint64_t>(alignment.value_or(0));
}

void GgufFile::read_tensors(Cursor& cursor, std::uint64_t count, std::uint64_t alignment) {
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t i = 0; i < count; ++i) {
    GgufTensor tensor;
    tensor.name = std::string(cursor.text("a tensor name"));
    const std::string what = fmt::format("tensor '{}'", printable(tensor.name));
    if (!tensor_places_.emplace(tensor.name, tensors_.size()).second) {
      throw corrupt(what + " stands there twice");
    }
    const std::uint32_t dimensions = cursor.u32(what);
    if (dimensions == 0 || dimensions > kMostDimensions) {
      throw corrupt(
          fmt::format("{} has {} dimensions, expected 1 to {}", what, dimensions, kMostDimensions));
    }
    for (std::uint32_t dimension = 0; dimension < dimensions; ++dimension) {
      const std::uint64_t size = cursor.u64(what);
      // A block takes at least a byte for two elements, so a whole tensor cannot have more.
      if (size == 0 || size / 2 > file_.bytes().size()) {
        throw corrupt(fmt::format("{} has a dimension of {}", what, size));
      }
      tensor.sizes.push_back(static_cast<std::int64_t>(size));
    }
    const std::uint32_t code = cursor.u32(what);
    offsets.push_back(cursor.u64(what));
    const std::optional<GgufType> type = gguf_type_from_code(code);
    if (!type) {
      throw unsupported(fmt::format("{} is {}; read are F32, F16, BF16, Q8_0, Q4_0, Q4_1 and Q6_K",
                                    what, gguf_type_name(code)));
    }
    tensor.type = *type;
    tensors_.push_back(std::move(tensor));
  }
  const std::size_t start = (cursor.place() + alignment - 1) / alignment * alignment;
  place_tensors(offsets, start, alignment);
}

void GgufFile::place_tensors(std::span<const std::uint64_t> offsets, std::size_t start,
                             std::uint64_t alignment) {
  const std::uint64_t file_bytes = file_.bytes().size();
  const std::uint64_t data_bytes = file_bytes > start ? file_bytes - start : 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    GgufTensor& tensor = tensors_[i];
    const GgufTypeInfo& info = gguf_type_info(tensor.type);
    const std::string what = fmt::format("tensor '{}'", printable(tensor.name));
    const auto row = static_cast<std::uint64_t>(tensor.sizes.front());
    if (row % info.block != 0) {
      throw corrupt(
          fmt::format("{} has rows of {}, not whole blocks of {}", what, row, info.block));
    }
    std::uint64_t bytes = row / info.block * info.bytes;
    for (std::size_t dimension = 1; dimension < tensor.sizes.size(); ++dimension) {
      const auto size = static_cast<std::uint64_t>(tensor.sizes[dimension]);
      if (bytes > data_bytes / size) {
        throw corrupt(
            fmt::format("is cut off: {} of [{}] needs more than the {} data bytes there "
                        "are",
                        what, fmt::join(tensor.sizes, ", "), data_bytes));
      }
      bytes *= size;
    }
    if (offsets[i] % alignment != 0) {
      throw corrupt(
          fmt::format("{} starts at {}, not a multiple of {}", what, offsets[i], alignment));
    }
    if (bytes > data_bytes || offsets[i] > data_bytes - bytes) {
      throw corrupt(
          fmt::format("is cut off: {} needs {} bytes from {} on, the file has {} data "
                      "bytes; get the file again",
                      what, bytes, offsets[i], data_bytes));
    }
    tensor.bytes = file_.bytes().subspan(start + offsets[i], bytes);
  }
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto place = tensor_places_.find(name);
  return place == tensor_places_.end() ? nullptr : &tensors_[place->second];
}

void GgufFile::release_pages(const GgufTensor& tensor) const {
  file_.release_pages(static_cast<std::size_t>(tensor.bytes.data() - file_.bytes().data()),
                      tensor.bytes.size());
}

const GgufFile::Value* GgufFile::value(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::optional<std::int64_t> GgufFile::integer(std::string_view key) const {
  const Value* found = value(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!is_integer(found->type)) {
    throw wrong_type(key, "an integer");
  }
  return Cursor(*this, found->place).integer(found->type, key);
}

std::optional<double> GgufFile::real(std::string_view key) const {
  const Value* found = value(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  Cursor cursor(*this, found->place);
  if (found->type == kF64) {
    return std::bit_cast<double>(cursor.u64(key));
  }
  if (found->type != kF32) {
    throw wrong_type(key, "a real number");
  }
  const auto stored = std::bit_cast<float>(cursor.u32(key));
  return parse_real(fmt::format("{}", stored)).value_or(static_cast<double>(stored));
}

std::optional<bool> GgufFile::boolean(std::string_view key) const {
  const Value* found = value(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (found->type != kBool) {
    throw wrong_type(key, "true or false");
  }
  return Cursor(*this, found->place).number(1, key) != 0;
}

std::optional<std::string_view> GgufFile::text(std::string_view key) const {
  const Value* found = value(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (found->type != kString) {
    throw wrong_type(key, "text");
  }
  return Cursor(*this, found->place).text(key);
}

std::optional<std::vector<std::string_view>> GgufFile::texts(std::string_view key) const {
  const Value* found = value(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  Cursor cursor(*this, found->place);
  if (found->type != kArray || cursor.u32(key) != kString) {
    throw wrong_type(key, "a list of texts");
  }
  std::vector<std::string_view> list(cursor.count(kLeastBytes.at(kString), key));
  for (std::string_view& item : list) {
    item = cursor.text(key);
  }
  return list;
}

std::optional<std::vector<std::int64_t>> GgufFile::integers(std::string_view key) const {
  const Value* found = value(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  Cursor cursor(*this, found->place);
  const std::uint32_t element = found->type == kArray ? cursor.u32(key) : kString;
  if (!is_integer(element)) {
    throw wrong_type(key, "a list of integers");
  }
  std::vector<std::int64_t> list(cursor.count(kLeastBytes.at(element), key));
  for (std::int64_t& item : list) {
    item = cursor.integer(element, key);
  }
  return list;
}

}  // namespace tunebench::model
