#include "tunebench/data/jsonl_record.h"

#include <array>
#include <cstdint>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/data/unicode.h"

namespace tunebench::data {
namespace {

/// Bytes at which a string needs a closer look: quote, backslash, control characters.
constexpr std::array<bool, 256> make_special() {
  std::array<bool, 256> special{};
  for (std::size_t byte = 0; byte < 0x20; ++byte) {
    special[byte] = true;
  }
  special['"'] = true;
  special['\\'] = true;
  return special;
}
constexpr std::array<bool, 256> kSpecial = make_special();

std::optional<std::uint32_t> hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) {
    return std::nullopt;
  }
  std::uint32_t value = 0;
  for (std::size_t i = at; i < at + 4; ++i) {
    const char c = text[i];
    std::uint32_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<std::uint32_t>(c - 'a') + 10U;
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<std::uint32_t>(c - 'A') + 10U;
    } else {
      return std::nullopt;
    }
    value = value * 16U + digit;
  }
  return value;
}

bool is_high_surrogate(std::uint32_t unit) {
  return unit >= 0xD800U && unit <= 0xDBFFU;
}
bool is_low_surrogate(std::uint32_t unit) {
  return unit >= 0xDC00U && unit <= 0xDFFFU;
}

/// Length of the escape at `at` (which holds the backslash), or 0 when it is wrong.
std::size_t escape_length(std::string_view text, std::size_t at) {
  if (at + 1 >= text.size()) {
    return 0;
  }
  if (text[at + 1] != 'u') {
    return std::string_view("\"\\/bfnrt").find(text[at + 1]) == std::string_view::npos ? 0 : 2;
  }
  const std::optional<std::uint32_t> unit = hex4(text, at + 2);
  if (!unit || is_low_surrogate(*unit)) {
    return 0;
  }
  if (!is_high_surrogate(*unit)) {
    return 6;
  }
  const bool has_second = text.substr(at + 6, 2) == "\\u";
  const std::optional<std::uint32_t> second = has_second ? hex4(text, at + 8) : std::nullopt;
  return second && is_low_surrogate(*second) ? 12 : 0;
}

/// A cursor over one line. Every function returns false, or nothing, when the line is not plain.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : line_(line) {}

  void skip_space() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) {
      ++at_;
    }
  }

  bool take(char wanted) {
    skip_space();
    if (at_ >= line_.size() || line_[at_] != wanted) {
      return false;
    }
    ++at_;
    return true;
  }

  [[nodiscard]] bool at_end() {
    skip_space();
    return at_ == line_.size();
  }

  [[nodiscard]] bool at_string() {
    skip_space();
    return at_ < line_.size() && line_[at_] == '"';
  }

  std::optional<RawString> string() {
    if (!take('"')) {
      return std::nullopt;
    }
    RawString found{.begin = at_};
    for (;;) {
      while (at_ < line_.size() && !kSpecial[static_cast<unsigned char>(line_[at_])]) {
        ++at_;
      }
      if (at_ >= line_.size()) {
        return std::nullopt;
      }
      if (line_[at_] == '"') {
        found.length = at_ - found.begin;
        ++at_;
        return found;
      }
      const std::size_t escape = line_[at_] == '\\' ? escape_length(line_, at_) : 0;
      if (escape == 0) {
        return std::nullopt;
      }
      found.escaped = true;
      at_ += escape;
    }
  }

  bool plain_value() {
    skip_space();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (line_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return true;
      }
    }
    const std::size_t begin = at_;
    while (at_ < line_.size() && line_[at_] >= '0' && line_[at_] <= '9') {
      ++at_;
    }
    const std::size_t digits = at_ - begin;
    return digits == 1 || (digits > 1 && line_[begin] != '0');
  }

 private:
  std::string_view line_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<RawString> find_string_member(std::string_view line, std::string_view field) {
  Cursor cursor(line);
  if (!cursor.take('{') || !(is_ascii(line) || is_valid_utf8(line))) {
    return std::nullopt;
  }
  std::optional<RawString> found;
  std::vector<std::string_view> keys;
  do {
    const std::optional<RawString> key = cursor.string();
    if (!key || key->escaped || !cursor.take(':')) {
      return std::nullopt;
    }
    const std::string_view name = line.substr(key->begin, key->length);
    for (const std::string_view earlier : keys) {
      if (earlier == name) {
        return std::nullopt;
      }
    }
    keys.push_back(name);
    constexpr std::size_t kManyKeys = 32;
    if (keys.size() > kManyKeys) {
      return std::nullopt;
    }
    if (!cursor.at_string()) {
      if (name == field || !cursor.plain_value()) {
        return std::nullopt;
      }
      continue;
    }
    const std::optional<RawString> value = cursor.string();
    if (!value) {
      return std::nullopt;
    }
    if (name == field) {
      found = value;
    }
  } while (cursor.take(','));
  if (!cursor.take('}') || !cursor.at_end()) {
    return std::nullopt;
  }
  return found;
}

std::string unescape_json(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t slash = raw.find('\\', at);
    text.append(raw.substr(at, slash - at));
    if (slash == std::string_view::npos) {
      break;
    }
    const std::size_t length = escape_length(raw, slash);
    TB_CHECK(length != 0);
    if (length == 2) {
      constexpr std::string_view kNames = "bfnrt";
      constexpr std::string_view kValues = "\b\f\n\r\t";
      const std::size_t known = kNames.find(raw[slash + 1]);
      text.push_back(known == std::string_view::npos ? raw[slash + 1] : kValues[known]);
    } else {
      const std::uint32_t unit = *hex4(raw, slash + 2);
      append_code_point(text, length == 6 ? unit
                                          : 0x10000U + ((unit - 0xD800U) << 10U) +
                                                (*hex4(raw, slash + 8) - 0xDC00U));
    }
    at = slash + length;
  }
  return text;
}

}  // namespace tunebench::data
