#include "tunebench/model/safetensors_header.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tunebench/base/error.h"
#include "tunebench/base/file_content.h"
#include "tunebench/base/text.h"

namespace tunebench::model {
namespace {

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kLongestHeader = 100'000'000;  // limit of the format's own library

struct TypeInfo {
  StoredType type;
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<TypeInfo, 10> kStoredTypes = {{
    {StoredType::F64, "F64", 8},
    {StoredType::F32, "F32", 4},
    {StoredType::F16, "F16", 2},
    {StoredType::BF16, "BF16", 2},
    {StoredType::I64, "I64", 8},
    {StoredType::I32, "I32", 4},
    {StoredType::I16, "I16", 2},
    {StoredType::I8, "I8", 1},
    {StoredType::U8, "U8", 1},
    {StoredType::Bool, "BOOL", 1},
}};

const TypeInfo& info(StoredType type) {
  return *std::find_if(kStoredTypes.begin(), kStoredTypes.end(),
                       [&](const TypeInfo& entry) { return entry.type == type; });
}

/// A tensor as written, before anything is believed.
struct RawEntry {
  std::string name;
  std::optional<std::string> dtype;
  std::optional<std::vector<std::uint64_t>> shape;
  std::optional<std::vector<std::uint64_t>> offsets;
};

/// Follows the header's fixed shape: object of objects of text and integer lists. Anything else
/// stops the parser with a problem, so depth and memory stay bounded by the text.
class HeaderHandler : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::vector<RawEntry> entries;
  std::string problem;

  bool null() override { return unexpected("null"); }
  bool boolean(bool /*value*/) override { return unexpected("true or false"); }
  bool number_integer(number_integer_t /*value*/) override {
    return unexpected("a negative number");
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    return unexpected("the number " + excerpt(text));
  }
  bool binary(binary_t& /*value*/) override { return unexpected("bytes"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (list_ == nullptr) {
      return unexpected("a number");
    }
    (*list_)->push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (depth_ == 2 && in_metadata_) {
      return true;
    }
    if (depth_ == 2 && field_ == "dtype") {
      entries.back().dtype = std::move(value);
      return true;
    }
    return unexpected("text");
  }

  bool start_object(std::size_t /*size*/) override {
    ++depth_;
    return depth_ <= 2 && list_ == nullptr ? true : unexpected("an object");
  }

  bool key(string_t& value) override {
    if (depth_ == 1) {
      if (!names_.insert(value).second) {
        problem = fmt::format("duplicate tensor name '{}'", excerpt(value));
        return false;
      }
      in_metadata_ = value == "__metadata__";
      if (!in_metadata_) {
        entries.push_back({.name = std::move(value), .dtype = {}, .shape = {}, .offsets = {}});
      }
      return true;
    }
    if (in_metadata_) {
      return true;
    }
    field_ = std::move(value);
    const RawEntry& entry = entries.back();
    if (field_ != "dtype" && field_ != "shape" && field_ != "data_offsets") {
      problem = fmt::format("{}: unknown field '{}'", where(), excerpt(field_));
      return false;
    }
    if ((field_ == "dtype" && entry.dtype) || (field_ == "shape" && entry.shape) ||
        (field_ == "data_offsets" && entry.offsets)) {
      problem = fmt::format("{}: {} stands there twice", where(), field_);
      return false;
    }
    return true;
  }

  bool end_object() override {
    --depth_;
    return true;
  }

  bool start_array(std::size_t /*size*/) override {
    if (depth_ != 2 || in_metadata_ || list_ != nullptr || field_ == "dtype") {
      return unexpected("a list");
    }
    list_ = field_ == "shape" ? &entries.back().shape : &entries.back().offsets;
    list_->emplace();
    return true;
  }

  bool end_array() override {
    list_ = nullptr;
    return true;
  }

  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    problem = fmt::format("header is not JSON from byte {} on", kLengthBytes + position);
    return false;
  }

 private:
  [[nodiscard]] std::string where() const {
    return entries.empty() || depth_ < 2 ? "header"
                                         : fmt::format("tensor '{}'", excerpt(entries.back().name));
  }

  bool unexpected(std::string_view found) {
    if (depth_ < 2) {
      problem = fmt::format("header holds {} where an object of tensors is due", found);
    } else if (in_metadata_) {
      problem = fmt::format("__metadata__ holds {} where text is due", found);
    } else {
      problem = fmt::format("{}: {} holds {}", where(), field_, found);
    }
    return false;
  }

  int depth_ = 0;
  bool in_metadata_ = false;
  std::string field_;
  std::optional<std::vector<std::uint64_t>>* list_ = nullptr;
  std::unordered_set<std::string> names_;
};

[[noreturn]] void corrupt(std::string_view label, const std::string& problem) {
  throw Error(ErrorCode::Corrupt, fmt::format("{}: {}", label, problem));
}

/// Bytes that the shape needs, or nothing when they do not fit 63 bits.
std::optional<std::uint64_t> bytes_needed(const std::vector<std::uint64_t>& shape,
                                          std::int64_t element) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t product = static_cast<std::uint64_t>(element);
  // A zero does not excuse sizes that overflow: elements() multiplies them in any order.
  bool empty = false;
  for (const std::uint64_t size : shape) {
    if (size == 0) {
      empty = true;
      continue;
    }
    if (size > kMost / product) {
      return std::nullopt;
    }
    product *= size;
  }
  return empty ? 0 : product;
}

HeaderEntry checked_entry(RawEntry& raw, std::string_view label) {
  const std::string where = fmt::format("tensor '{}'", excerpt(raw.name));
  if (!raw.dtype || !raw.shape || !raw.offsets || raw.offsets->size() != 2) {
    corrupt(label, where + ": dtype, shape and two data_offsets are due");
  }
  const auto known = std::find_if(kStoredTypes.begin(), kStoredTypes.end(),
                                  [&](const TypeInfo& entry) { return entry.name == *raw.dtype; });
  if (known == kStoredTypes.end()) {
    corrupt(label, fmt::format("{}: unknown dtype {}", where, excerpt(*raw.dtype)));
  }
  const std::optional<std::uint64_t> needed = bytes_needed(*raw.shape, known->bytes);
  const std::uint64_t begin = raw.offsets->front();
  const std::uint64_t end = raw.offsets->back();
  if (!needed) {
    corrupt(label, fmt::format("{}: shape [{}] has more elements than 63 bits can count", where,
                               fmt::join(*raw.shape, ", ")));
  }
  if (begin > end) {
    corrupt(label, fmt::format("{}: data_offsets [{}, {}] run backwards", where, begin, end));
  }
  if (end - begin != *needed) {
    corrupt(label,
            fmt::format("{}: data_offsets [{}, {}] hold {} bytes, {} [{}] needs {}", where, begin,
                        end, end - begin, known->name, fmt::join(*raw.shape, ", "), *needed));
  }
  HeaderEntry entry{
      .name = std::move(raw.name), .type = known->type, .shape = {}, .begin = begin, .end = end};
  for (const std::uint64_t size : *raw.shape) {
    entry.shape.push_back(static_cast<std::int64_t>(size));
  }
  return entry;
}

void check_layout(const std::vector<HeaderEntry>& entries, std::size_t header_bytes,
                  std::size_t file_bytes, std::string_view label) {
  std::size_t place = 0;
  for (const HeaderEntry& entry : entries) {
    if (entry.begin != place) {
      corrupt(label,
              fmt::format("tensor '{}': starts at {}, {} {}", excerpt(entry.name), entry.begin,
                          entry.begin < place ? "inside the tensor before it, which ends at"
                                              : "a hole after",
                          place));
    }
    place = entry.end;
  }
  const std::size_t data_bytes = file_bytes - header_bytes;
  if (place > data_bytes) {
    const auto last = std::find_if(entries.begin(), entries.end(), [&](const HeaderEntry& entry) {
      return entry.end > data_bytes;
    });
    corrupt(label, fmt::format("is cut off: {} bytes expected, {} found; tensor '{}' is not whole; "
                               "get the file again",
                               header_bytes + place, file_bytes, excerpt(last->name)));
  }
  if (place < data_bytes) {
    corrupt(label, fmt::format("{} bytes follow the last tensor", data_bytes - place));
  }
}

std::size_t header_length(std::string_view file, std::string_view label) {
  if (const std::string kind = placeholder_kind(file); !kind.empty()) {
    corrupt(label, fmt::format("is {}; the weights were not downloaded", kind));
  }
  if (file.size() < kLengthBytes) {
    corrupt(label, fmt::format("is cut off: {} bytes, a header length alone takes {}; get the file "
                               "again",
                               file.size(), kLengthBytes));
  }
  std::uint64_t length = 0;
  for (std::size_t byte = 0; byte < kLengthBytes; ++byte) {
    length |= static_cast<std::uint64_t>(static_cast<unsigned char>(file[byte])) << (8U * byte);
  }
  if (length > kLongestHeader) {
    corrupt(label, fmt::format("is not a safetensors file: its first 8 bytes announce a header of "
                               "{} bytes, the most is {}",
                               length, kLongestHeader));
  }
  if (length > file.size() - kLengthBytes) {
    corrupt(label,
            fmt::format("is cut off inside the header: {} bytes expected at least, {} found; "
                        "get the file again",
                        kLengthBytes + length, file.size()));
  }
  return length;
}

}  // namespace

std::string_view stored_type_name(StoredType type) {
  return info(type).name;
}

std::int64_t stored_type_bytes(StoredType type) {
  return info(type).bytes;
}

SafetensorsHeader read_safetensors_header(std::string_view file, std::string_view label) {
  const std::size_t length = header_length(file, label);
  const std::string_view text = file.substr(kLengthBytes, length);
  if (!text.starts_with('{')) {
    corrupt(label, "is not a safetensors file: its header does not start with {");
  }
  HeaderHandler handler;
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &handler)) {
    corrupt(label, handler.problem);
  }
  SafetensorsHeader header;
  header.bytes = kLengthBytes + length;
  for (RawEntry& raw : handler.entries) {
    header.entries.push_back(checked_entry(raw, label));
  }
  std::stable_sort(header.entries.begin(), header.entries.end(),
                   [](const HeaderEntry& a, const HeaderEntry& b) {
                     return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
                   });
  check_layout(header.entries, header.bytes, file.size(), label);
  for (HeaderEntry& entry : header.entries) {
    entry.begin += header.bytes;
    entry.end += header.bytes;
  }
  return header;
}

}  // namespace tunebench::model
