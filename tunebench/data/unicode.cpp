#include "tunebench/data/unicode.h"

#include <cstdint>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>
#include <utf8proc.h>

#include "tunebench/base/error.h"

namespace tunebench::data {
namespace {

utf8proc_category_t category(char32_t point) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(point));
}

struct FreeDeleter {
  void operator()(void* memory) const { std::free(memory); }
};

bool in_range(char32_t point, char32_t first, char32_t last) {
  return point >= first && point <= last;
}

/// Symbols that count as alphabetic: circled, squared and parenthesised letters.
bool is_lettered_symbol(char32_t point) {
  return in_range(point, 0x24B6, 0x24E9) || in_range(point, 0x1F130, 0x1F149) ||
         in_range(point, 0x1F150, 0x1F169) || in_range(point, 0x1F170, 0x1F189);
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& at) {
  const auto byte = [text](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[i]));
  };
  const std::size_t length = code_point_length(text[at]);
  TB_DCHECK(at + length <= text.size());
  char32_t point = byte(at);
  if (length > 1) {
    point &= 0xFFU >> (length + 1);
    for (std::size_t i = 1; i < length; ++i) {
      point = (point << 6U) | (byte(at + i) & 0x3FU);
    }
  }
  at += length;
  return point;
}

void append_code_point(std::string& text, char32_t point) {
  if (point < 0x80U) {
    text.push_back(static_cast<char>(point));
    return;
  }
  if (point >= 0x10000U) {
    text.push_back(static_cast<char>(0xF0U | (point >> 18U)));
    text.push_back(static_cast<char>(0x80U | ((point >> 12U) & 0x3FU)));
  } else if (point >= 0x800U) {
    text.push_back(static_cast<char>(0xE0U | (point >> 12U)));
  } else {
    text.push_back(static_cast<char>(0xC0U | (point >> 6U)));
  }
  if (point >= 0x800U) {
    text.push_back(static_cast<char>(0x80U | ((point >> 6U) & 0x3FU)));
  }
  text.push_back(static_cast<char>(0x80U | (point & 0x3FU)));
}

bool is_white_space(char32_t point) {
  return in_range(point, 0x09, 0x0D) || point == 0x20 || point == 0x85 || point == 0xA0 ||
         point == 0x1680 || in_range(point, 0x2000, 0x200A) || point == 0x2028 || point == 0x2029 ||
         point == 0x202F || point == 0x205F || point == 0x3000;
}

bool is_word(char32_t point) {
  switch (category(point)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return point == 0x200C || point == 0x200D || is_lettered_symbol(point);
  }
}

bool is_numeric(char32_t point) {
  const utf8proc_category_t kind = category(point);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL ||
         kind == UTF8PROC_CATEGORY_NO;
}

bool is_punctuation(char32_t point) {
  switch (category(point)) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return true;
    default:
      return point < 0x80U &&
             std::string_view("$+<=>^`|~").find(static_cast<char>(point)) != std::string_view::npos;
  }
}

bool is_mark(char32_t point) {
  const utf8proc_category_t kind = category(point);
  return kind == UTF8PROC_CATEGORY_MN || kind == UTF8PROC_CATEGORY_MC ||
         kind == UTF8PROC_CATEGORY_ME;
}

bool is_ascii(std::string_view text) {
  unsigned char seen = 0;
  for (const char byte : text) {
    seen = static_cast<unsigned char>(seen | static_cast<unsigned char>(byte));
  }
  return seen < 0x80U;
}

std::string normal_form(std::string_view text, NormalForm form) {
  if (is_ascii(text)) {
    return std::string(text);
  }
  int options = UTF8PROC_STABLE;
  options |=
      form == NormalForm::Nfc || form == NormalForm::Nfkc ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::Nfkc || form == NormalForm::Nfkd) {
    options |= UTF8PROC_COMPAT;
  }
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t length = utf8proc_map(
      reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
      static_cast<utf8proc_ssize_t>(text.size()), &raw, static_cast<utf8proc_option_t>(options));
  const std::unique_ptr<utf8proc_uint8_t, FreeDeleter> owned(raw);
  if (length < 0) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("text cannot be normalized: {}", utf8proc_errmsg(length)));
  }
  return std::string(reinterpret_cast<const char*>(raw), static_cast<std::size_t>(length));
}

std::string lower_case(std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const char32_t point = next_code_point(text, at);
    constexpr char32_t kCapitalDottedI = 0x130;
    if (point == kCapitalDottedI) {  // the one letter whose small form has two code points
      lower += "i\xCC\x87";
    } else {
      append_code_point(
          lower, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(point))));
    }
  }
  return lower;
}

}  // namespace tunebench::data
