#include "tunebench/base/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>

#include <fmt/format.h>

namespace tunebench {
namespace {

unsigned byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc{} || result.ptr != end) {
    return std::nullopt;
  }
  return value;
}

/// C0, DEL, C1 and the two Unicode line separators: what would move or recolour a terminal's
/// cursor.
bool breaks_the_line(std::string_view sequence) {
  const unsigned first = byte_at(sequence, 0);
  if (sequence.size() == 1) {
    return first < 0x20 || first == 0x7F;
  }
  if (sequence.size() == 2) {
    return first == 0xC2 && byte_at(sequence, 1) < 0xA0;
  }
  return sequence == "\xE2\x80\xA8" || sequence == "\xE2\x80\xA9";
}

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (std::size_t at = text.find(separator); at != std::string_view::npos;
       at = text.find(separator, begin)) {
    parts.emplace_back(text.substr(begin, at - begin));
    begin = at + 1;
  }
  parts.emplace_back(text.substr(begin));
  return parts;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n\f\v";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    text += i == 0 ? std::string_view() : separator;
    text += parts[i];
  }
  return text;
}

std::string lower_ascii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') {
      c = static_cast<char>(c - 'A' + 'a');
    }
  }
  return lower;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<double> parse_real(std::string_view text) {
  const std::optional<double> value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string shortest(double value) {
  std::array<char, 64> buffer{};
  // Left alone, to_chars writes 100000 as 1e+05, since that is one character shorter.
  const bool whole = std::fabs(value) < 1e15 && std::trunc(value) == value;
  char* end = buffer.data() + buffer.size();
  const std::to_chars_result result =
      whole ? std::to_chars(buffer.data(), end, value, std::chars_format::fixed)
            : std::to_chars(buffer.data(), end, value);
  return {buffer.data(), result.ptr};
}

std::string with_thousands(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string format_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  if (std::fabs(value) < 1024) {
    return fmt::format("{} B", bytes);
  }
  value /= 1024;
  std::size_t unit = 0;
  while (std::fabs(value) >= 1023.5 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  // Three significant digits; the borders are where rounding would show a fourth.
  const double size = std::fabs(value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds)) {
    return "unknown";
  }
  if (seconds < 0) {
    return "-" + format_duration(-seconds);
  }
  if (seconds < 0.0095) {
    return fmt::format("{:.2g} ms", seconds * 1e3);
  }
  if (seconds < 0.9995) {
    return fmt::format("{:.0f} ms", seconds * 1e3);
  }
  if (seconds < 59.95) {
    return fmt::format("{:.1f} s", seconds);
  }
  if (seconds < 3599.5) {
    const std::int64_t whole = std::llround(seconds);
    return fmt::format("{} min {} s", whole / 60, whole % 60);
  }
  const std::int64_t minutes = std::llround(std::min(seconds, 1e15) / 60);
  return fmt::format("{} h {} min", minutes / 60, minutes % 60);
}

std::size_t utf8_sequence_length(std::string_view text) {
  if (text.empty()) {
    return 0;
  }
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) {
    return 1;
  }
  // The second byte's range excludes overlong forms, surrogates and values above U+10FFFF.
  std::size_t length = 0;
  unsigned low = 0x80;
  unsigned high = 0xBF;
  if (first >= 0xC2 && first <= 0xDF) {
    length = 2;
  } else if (first >= 0xE0 && first <= 0xEF) {
    length = 3;
    low = first == 0xE0 ? 0xA0 : 0x80;
    high = first == 0xED ? 0x9F : 0xBF;
  } else if (first >= 0xF0 && first <= 0xF4) {
    length = 4;
    low = first == 0xF0 ? 0x90 : 0x80;
    high = first == 0xF4 ? 0x8F : 0xBF;
  }
  if (length == 0 || text.size() < length || byte_at(text, 1) < low || byte_at(text, 1) > high) {
    return 0;
  }
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte_at(text, i) & 0xC0U) != 0x80U) {
      return 0;
    }
  }
  return length;
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

std::size_t display_width(std::string_view text) {
  // Each byte of no valid sequence counts one, too.
  std::size_t width = 0;
  for (; !text.empty(); ++width) {
    text.remove_prefix(std::max<std::size_t>(1, utf8_sequence_length(text)));
  }
  return width;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(1, length));
    if (length == 0 || breaks_the_line(sequence)) {
      for (std::size_t i = 0; i < sequence.size(); ++i) {
        out += fmt::format("\\x{:02X}", byte_at(sequence, i));
      }
    } else {
      out += sequence;
    }
    text.remove_prefix(sequence.size());
  }
  return out;
}

std::string excerpt(std::string_view text, std::size_t most) {
  std::size_t bytes = 0;
  for (std::size_t taken = 0; bytes < text.size(); ++taken) {
    if (taken == most) {
      return printable(text.substr(0, bytes)) + "...";
    }
    bytes += std::max<std::size_t>(1, utf8_sequence_length(text.substr(bytes)));
  }
  return printable(text);
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char letter : text) {
    quoted.append(letter == '"' ? 2 : 1, letter);
  }
  return quoted + "\"";
}

}  // namespace tunebench
