#include "tunebench/data/byte_alphabet.h"

#include <cstddef>

#include "tunebench/data/unicode.h"

namespace tunebench::data {
namespace {

bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr char32_t kFirstOther = 0x100;
constexpr char32_t kOthers = 68;  // bytes that do not stand for themselves

/// Byte of each letter below kFirstOther + kOthers, or -1.
std::array<int, kFirstOther + kOthers> make_bytes() {
  std::array<int, kFirstOther + kOthers> bytes{};
  bytes.fill(-1);
  char32_t next = kFirstOther;
  for (unsigned byte = 0; byte < 256; ++byte) {
    bytes[stands_for_itself(byte) ? byte : next++] = static_cast<int>(byte);
  }
  return bytes;
}

const std::array<int, kFirstOther + kOthers>& letter_bytes() {
  static const std::array<int, kFirstOther + kOthers> bytes = make_bytes();
  return bytes;
}

std::array<std::string, 256> make_letters() {
  std::array<std::string, 256> letters;
  for (char32_t point = 0; point < letter_bytes().size(); ++point) {
    if (letter_bytes()[point] >= 0) {
      append_code_point(letters[static_cast<std::size_t>(letter_bytes()[point])], point);
    }
  }
  return letters;
}

}  // namespace

const std::array<std::string, 256>& byte_letters() {
  static const std::array<std::string, 256> letters = make_letters();
  return letters;
}

std::string to_byte_letters(std::string_view bytes) {
  std::string letters;
  letters.reserve(bytes.size() * 2);
  for (const char byte : bytes) {
    letters += byte_letters()[static_cast<unsigned char>(byte)];
  }
  return letters;
}

std::optional<std::string> from_byte_letters(std::string_view letters) {
  std::string bytes;
  for (std::size_t at = 0; at < letters.size();) {
    const char32_t point = next_code_point(letters, at);
    if (point >= letter_bytes().size() || letter_bytes()[point] < 0) {
      return std::nullopt;
    }
    bytes.push_back(static_cast<char>(letter_bytes()[point]));
  }
  return bytes;
}

}  // namespace tunebench::data
