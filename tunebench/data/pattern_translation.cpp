#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/data/pattern.h"

namespace tunebench::data {
namespace {

// Unicode's White_Space. PCRE2's own \s also takes U+180E.
constexpr std::string_view kSpace =
    R"(\t\n\x0B\f\r\x20\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000})";
// Everything else, for use inside [].
constexpr std::string_view kNotSpace =
    R"(\x{0}-\x{8}\x{E}-\x{1F}\x{21}-\x{84}\x{86}-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{10FFFF})";
// Letters, marks, digits, connectors and symbols that count as letters. PCRE2's own \w has no marks
// and no connectors other than the underscore.
constexpr std::string_view kWord =
    R"(\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc}\x{24B6}-\x{24E9}\x{1F130}-\x{1F149}\x{1F150}-\x{1F169}\x{1F170}-\x{1F189})";
// Outside [] Oniguruma looks Latin-1 up in a table of its own, which has the numerals too.
constexpr std::string_view kLatinNumerals = R"(\x{B2}\x{B3}\x{B9}\x{BC}-\x{BE})";

class Translator {
 public:
  explicit Translator(std::string_view source) : source_(source) {}

  std::string translate() {
    while (at_ < source_.size()) {
      if (source_[at_] == '\\') {
        escape(false);
      } else if (source_[at_] == '[') {
        character_class();
      } else if (source_[at_] == '(') {
        group();
      } else if (source_[at_] == '{') {
        interval();
      } else {
        copy(1);
      }
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(std::string_view construct) const {
    throw Error(ErrorCode::Unsupported,
                fmt::format("'{}' is not supported in the expression '{}'", construct, source_));
  }

  [[nodiscard]] char peek(std::size_t ahead) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }

  void copy(std::size_t count) {
    result_ += source_.substr(at_, count);
    at_ += count;
  }

  void replace(std::size_t count, std::string_view by) {
    result_ += by;
    at_ = std::min(at_ + count, source_.size());
  }

  void escape(bool in_class) {
    const char letter = peek(1);
    const auto shorthand = [&](std::string_view members) {
      replace(2, in_class ? std::string(members) : fmt::format("[{}]", members));
    };
    switch (letter) {
      case 's':
        return shorthand(kSpace);
      case 'S':
        return shorthand(kNotSpace);
      case 'w':
        return shorthand(in_class ? std::string(kWord)
                                  : fmt::format("{}{}", kWord, kLatinNumerals));
      case 'W':
        if (in_class) {
          refuse("\\W inside []");
        }
        return replace(2, fmt::format("[^{}{}]", kWord, kLatinNumerals));
      case 'p':
      case 'P':
        return braced(2);
      case 'x':
        if (peek(2) != '{') {
          refuse("\\x without {}");  // a byte there, a code point here
        }
        return braced(2);
      case 'u':
        return replace(6, fmt::format("\\x{{{}}}", source_.substr(at_ + 2, 4)));
      case 'd':
      case 'D':
      case 'n':
      case 'r':
      case 't':
      case 'f':
        return copy(2);
      case 'v':  // vertical tab; in PCRE2 any vertical space
        return replace(2, "\\x0B");
      default:
        break;
    }
    const bool is_letter = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z');
    const bool is_digit = letter >= '0' && letter <= '9';
    if (is_letter || is_digit || letter == '\0') {
      refuse(fmt::format("\\{}", letter == '\0' ? std::string() : std::string(1, letter)));
    }
    copy(2);
  }

  /// \p{..}, \x{..} or the plain forms \pL, \x41, which are copied letter by letter.
  void braced(std::size_t head) {
    if (peek(head) != '{') {
      return copy(head);
    }
    const std::size_t close = source_.find('}', at_);
    if (close == std::string_view::npos) {
      refuse(source_.substr(at_));
    }
    copy(close + 1 - at_);
  }

  void character_class() {
    copy(1);
    if (peek(0) == '^') {
      copy(1);
    }
    for (bool first = true; at_ < source_.size(); first = false) {
      if (source_[at_] == ']' && !first) {
        return copy(1);
      }
      if (source_[at_] == '[') {
        refuse("[ inside []");
      }
      if (source_[at_] == '&' && peek(1) == '&') {
        refuse("&& inside []");
      }
      if (source_[at_] == '\\') {
        escape(true);
      } else {
        copy(1);
      }
    }
    refuse("[ without ]");
  }

  void group() {
    if (peek(1) == '*') {  // a literal quantifier error there, a verb here
      refuse("(*");
    }
    if (peek(1) != '?') {
      return copy(1);
    }
    const std::string_view rest = source_.substr(at_ + 2);
    for (const std::string_view known :
         {":", "=", "!", ">", "<=", "<!", "i:", "i)", "-i:", "-i)"}) {
      if (rest.starts_with(known)) {
        return copy(2 + known.size());
      }
    }
    refuse(fmt::format("(?{}", rest.substr(0, 1)));
  }

  /// {n,m}+ repeats the repetition there and makes it possessive here; {n}? may leave it out there
  /// and is lazy here.
  void interval() {
    const std::size_t close = source_.find('}', at_);
    if (close == std::string_view::npos ||
        source_.substr(at_ + 1, close - at_ - 1).find_first_not_of("0123456789,") !=
            std::string_view::npos) {
      return replace(1, "\\{");
    }
    const std::string_view range = source_.substr(at_ + 1, close - at_ - 1);
    if (range.starts_with(',') || range.empty()) {
      refuse(fmt::format("{{{}}}", range));  // {,n} counts from zero there, is text here
    }
    copy(close + 1 - at_);
    if (peek(0) == '+' || (peek(0) == '?' && range.find(',') == std::string_view::npos)) {
      refuse(fmt::format("{{{}}}{}", range, peek(0)));
    }
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::string result_;
};

}  // namespace

std::string pcre2_expression(std::string_view oniguruma) {
  return Translator(oniguruma).translate();
}

}  // namespace tunebench::data
