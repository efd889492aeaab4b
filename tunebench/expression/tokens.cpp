#include <array>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/expression/internal/syntax.h"

namespace tunebench::expression {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool continues_word(char c) {
  return begins_word(c) || is_digit(c);
}

/// What other languages write, and what it is here.
struct Foreign {
  std::string_view sign;
  std::string_view remedy;
};
constexpr std::array<Foreign, 13> kForeign = {{
    {"--", "comments are not allowed; write - -x for the opposite of -x"},
    {"/*", "comments are not allowed"},
    {"||", "write 'or'"},
    {"&&", "write 'and'"},
    {"**", "write pow(x, y)"},
    {"//", "write floor(x / y)"},
    {"<<", "write x * pow(2, y)"},
    {">>", "write x / pow(2, y)"},
    {"|", "write 'or'"},
    {"&", "write 'and'"},
    {"!", "write 'not'"},
    {"`", "write text in '...' or \"...\""},
    {"?", "write iif(condition, x, y)"},
}};

constexpr std::array<std::string_view, 5> kLongSigns = {"==", "!=", "<>", "<=", ">="};
constexpr std::string_view kShortSigns = "=<>+-*/%(),";

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) {
      ++at_;
    }
    if (at_ == text_.size()) {
      return {TokenKind::End, {}, at_};
    }
    const char c = text_[at_];
    if (begins_word(c)) {
      return word();
    }
    if (is_digit(c) || (c == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1]))) {
      return number();
    }
    return c == '\'' || c == '"' ? quoted() : sign();
  }

 private:
  [[noreturn]] void fail(std::size_t offset, std::string text, std::string_view hint = {}) const {
    throw SyntaxError{{offset, std::move(text), std::string(hint)}};
  }

  Token take(TokenKind kind, std::size_t end) {
    const Token token{kind, text_.substr(at_, end - at_), at_};
    at_ = end;
    return token;
  }

  Token word() {
    std::size_t end = at_;
    while (end < text_.size() && continues_word(text_[end])) {
      ++end;
    }
    return take(TokenKind::Word, end);
  }

  Token number() {
    std::size_t end = at_;
    const auto digits = [&] {
      while (end < text_.size() && is_digit(text_[end])) {
        ++end;
      }
    };
    digits();
    if (end < text_.size() && text_[end] == '.') {
      ++end;
      digits();
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      ++end;
      if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) {
        ++end;
      }
      digits();
    }
    while (end < text_.size() && (continues_word(text_[end]) || text_[end] == '.')) {
      ++end;
    }
    const std::string_view written = text_.substr(at_, end - at_);
    if (!parse_real(written)) {
      fail(at_, fmt::format("'{}' is no number", excerpt(written)));
    }
    return take(TokenKind::Number, end);
  }

  Token quoted() {
    const char quote = text_[at_];
    std::size_t end = at_ + 1;
    while (end < text_.size()) {
      if (text_[end] == quote) {
        if (end + 1 == text_.size() || text_[end + 1] != quote) {
          return take(TokenKind::String, end + 1);
        }
        ++end;
      }
      ++end;
    }
    fail(at_, fmt::format("the text that begins with {} does not end", quote));
  }

  Token sign() {
    const std::string_view rest = text_.substr(at_);
    for (const std::string_view two : kLongSigns) {
      if (rest.starts_with(two)) {
        return take(TokenKind::Sign, at_ + 2);
      }
    }
    for (const Foreign& foreign : kForeign) {
      if (rest.starts_with(foreign.sign)) {
        fail(at_, fmt::format("'{}' is not part of expressions", foreign.sign), foreign.remedy);
      }
    }
    if (kShortSigns.find(rest[0]) == kShortSigns.npos) {
      const std::size_t length = utf8_sequence_length(rest);
      fail(at_, fmt::format("'{}' is not part of expressions",
                            printable(rest.substr(0, length == 0 ? 1 : length))));
    }
    return take(TokenKind::Sign, at_ + 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<Token> read_tokens(std::string_view text) {
  if (text.size() > kLongestText) {
    throw SyntaxError{
        {kLongestText, fmt::format("longer than {} characters", with_thousands(kLongestText)), {}}};
  }
  if (text.find('\0') != text.npos) {
    throw SyntaxError{{text.find('\0'), "holds a zero byte", {}}};
  }
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_sequence_length(text.substr(at));
    if (length == 0) {
      throw SyntaxError{{at, "holds bytes that are not UTF-8", {}}};
    }
    at += length;
  }
  Lexer lexer(text);
  std::vector<Token> tokens = {lexer.next()};
  while (tokens.back().kind != TokenKind::End) {
    tokens.push_back(lexer.next());
  }
  return tokens;
}

}  // namespace tunebench::expression
