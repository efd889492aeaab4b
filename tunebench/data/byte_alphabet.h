#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace tunebench::data {

/// The printable letter that stands for each byte in a byte-level vocabulary: printable Latin-1
/// letters stand for themselves, the others for U+0100 and up in order.
/// Source: github.com/openai/gpt-2 encoder.py, bytes_to_unicode.
const std::array<std::string, 256>& byte_letters();

/// Every byte of `bytes` as its letter.
std::string to_byte_letters(std::string_view bytes);
/// The bytes that `letters` stand for, or nothing when one of them is no such letter.
std::optional<std::string> from_byte_letters(std::string_view letters);

}  // namespace tunebench::data
