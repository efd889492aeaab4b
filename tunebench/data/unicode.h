#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tunebench::data {

/// Length in bytes of the code point that begins with `lead`. For valid UTF-8 only.
inline std::size_t code_point_length(char lead) {
  const unsigned char byte = static_cast<unsigned char>(lead);
  if (byte < 0x80U) {
    return 1;
  }
  return byte < 0xE0U ? 2 : byte < 0xF0U ? 3 : 4;
}

/// The code point at `at`, which is moved behind it. For valid UTF-8 only.
char32_t next_code_point(std::string_view text, std::size_t& at);
void append_code_point(std::string& text, char32_t point);

/// White_Space of Unicode.
bool is_white_space(char32_t point);
/// What \w means in Unicode: letters, marks, decimal digits, connectors, joiners.
bool is_word(char32_t point);
/// General category N: digits, letter numbers, fractions.
bool is_numeric(char32_t point);
/// General category P, and the ASCII symbols $+<=>^`|~.
bool is_punctuation(char32_t point);
/// General category M.
bool is_mark(char32_t point);

bool is_ascii(std::string_view text);

enum class NormalForm { Nfc, Nfd, Nfkc, Nfkd };
std::string normal_form(std::string_view text, NormalForm form);
/// Letter by letter; a capital sigma at the end of a word becomes the usual small one.
std::string lower_case(std::string_view text);

}  // namespace tunebench::data
