#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tunebench {

std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::string lower_ascii(std::string_view text);

/// Whole-text numbers: no surrounding space, no leading plus, no trailing letters. parse_real takes
/// 1e-5, 1E-5, .5, but not inf and nan.
std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<double> parse_real(std::string_view text);

/// Shortest text that reads back as the same number; whole numbers without ".0" below 1e15.
std::string shortest(double value);

/// 1234567 -> "1,234,567"
std::string with_thousands(std::int64_t value);
/// "512 B", "1.21 GiB"
std::string format_bytes(std::int64_t bytes);
/// "350 ms", "8.2 s", "4 min 10 s", "2 h 5 min"
std::string format_duration(double seconds);

/// A cell of a CSV file, in quotes where it must be. Source: RFC 4180.
std::string csv_cell(std::string_view text);

/// Bytes of the UTF-8 sequence that `text` begins with; 0 when it begins with none.
[[nodiscard]] std::size_t utf8_sequence_length(std::string_view text);
[[nodiscard]] bool is_valid_utf8(std::string_view text);
/// Columns that `text` takes on a terminal, counting one per code point.
std::size_t display_width(std::string_view text);
/// Text for one line of output: control characters, line breaks and invalid bytes shown as \xNN.
std::string printable(std::string_view text);
/// The same of text that a file gave and that may be of any length: above `most` characters, its
/// beginning and "...".
std::string excerpt(std::string_view text, std::size_t most = 80);

}  // namespace tunebench
