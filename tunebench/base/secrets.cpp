#include "tunebench/base/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "tunebench/base/text.h"

namespace tunebench {
namespace {

constexpr std::string_view kMask = "***";

struct Beginning {
  std::string_view text;
  std::string_view more;  ///< characters that may follow beside letters and digits
};
/// Of tokens that are known by how they begin.
constexpr std::array<Beginning, 16> kBeginnings{{
    {"hf_", ""},
    {"sk-", "-_"},
    {"ghp_", ""},
    {"gho_", ""},
    {"ghu_", ""},
    {"ghs_", ""},
    {"ghr_", ""},
    {"github_pat_", "_"},
    {"glpat-", "-_"},
    {"AKIA", ""},
    {"ASIA", ""},
    {"xoxb-", "-"},
    {"xoxp-", "-"},
    {"AIza", "-_"},
    {"npm_", ""},
    {"pypi-", "-_"},
}};

/// Last parts of names whose value is a secret; small letters, - and _ alike.
constexpr std::array<std::string_view, 19> kNames{
    "token",      "password",    "passwd",        "passphrase", "pwd",    "secret", "key",
    "credential", "credentials", "authorization", "auth",       "apikey", "cookie", "signature",
    "sig",        "pat",         "pass",          "bearer",     "sas"};

bool word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}
bool blank(char c) {
  return c == ' ' || c == '\t';
}
bool quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}

bool secret_name(std::string_view word) {
  const std::string name = lower_ascii(word);
  return std::ranges::any_of(kNames, [&name](std::string_view end) {
    if (!name.ends_with(end)) {
      return false;
    }
    const std::size_t before = name.size() - end.size();
    return before == 0 || name[before - 1] == '_' || name[before - 1] == '-' ||
           name[before - 1] == '.';
  });
}

/// A part of the text that is to be hidden.
struct Part {
  std::size_t begin = 0;
  std::size_t end = 0;
};

class Search {
 public:
  explicit Search(std::string_view text) : text_(text) {}

  std::vector<Part> parts() {
    for (std::size_t at = 0; at < text_.size();) {
      if (!word_character(text_[at])) {
        look_for_url(at);
        ++at;
        continue;
      }
      std::size_t end = at;
      while (end < text_.size() && word_character(text_[end])) {
        ++end;
      }
      look_at_word(at, end);
      at = end;
    }
    return std::move(parts_);
  }

 private:
  [[nodiscard]] std::string_view between(std::size_t begin, std::size_t end) const {
    return text_.substr(begin, end - begin);
  }
  [[nodiscard]] std::size_t skip_blanks(std::size_t at) const {
    while (at < text_.size() && blank(text_[at])) {
      ++at;
    }
    return at;
  }
  /// End of the value that begins at `at`, and where it begins without its quote.
  [[nodiscard]] Part value_at(std::size_t at) const {
    const bool quoted = at < text_.size() && quote(text_[at]);
    const char closing = quoted ? text_[at] : '\0';
    Part value{quoted ? at + 1 : at, quoted ? at + 1 : at};
    while (value.end < text_.size() && text_[value.end] != '\n' && text_[value.end] != '\r') {
      const char c = text_[value.end];
      if (quoted ? c == closing : blank(c) || quote(c) || c == '&') {
        break;
      }
      ++value.end;
    }
    return value;
  }
  void hide(Part part) {
    if (part.end > part.begin) {
      parts_.push_back(part);
    }
  }

  void look_at_word(std::size_t begin, std::size_t end) {
    const std::string_view word = between(begin, end);
    for (const Beginning& known : kBeginnings) {
      // Within a word, too: dashes may lead up to it.
      const std::size_t at = word.find(known.text);
      if (at != std::string_view::npos && (at == 0 || word[at - 1] == '-' || word[at - 1] == '_')) {
        hide_token(begin + at, known);
      }
    }
    const std::string lower = lower_ascii(word);
    if (lower == "bearer" || lower == "basic") {
      const Part value = value_at(skip_blanks(end));
      if (value.begin > end && value.end - value.begin >= 8) {
        hide(value);
      }
    }
    if (secret_name(word)) {
      look_behind_name(begin, end);
    }
  }

  /// Long, or with a digit: hf_transfer is no token.
  void hide_token(std::size_t begin, const Beginning& known) {
    const std::size_t first = begin + known.text.size();
    std::size_t end = first;
    bool digit = false;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 ||
                                  known.more.find(text_[end]) != std::string_view::npos)) {
      digit = digit || std::isdigit(static_cast<unsigned char>(text_[end])) != 0;
      ++end;
    }
    if (end - first >= 16 || (digit && end - first >= 8)) {
      hide({begin, end});
    }
  }

  /// NAME=x, NAME = x, "name": "x", name: x and --name x.
  void look_behind_name(std::size_t begin, std::size_t end) {
    const bool quoted_name = end < text_.size() && quote(text_[end]);
    const std::size_t mark = skip_blanks(quoted_name ? end + 1 : end);
    const char separator = mark < text_.size() ? text_[mark] : '\0';
    const bool option = text_[begin] == '-';
    if (separator == '=' || separator == ':') {
      const std::size_t at = skip_blanks(mark + 1);
      // "unexpected token: x" and "key: x" are what programs say; a quoted name is a document.
      const std::string last = lower_ascii(between(begin, end));
      const bool plain = last == "token" || last == "key" || last == "pass";
      if (separator == '=' || quoted_name || !plain) {
        Part value = value_at(at);
        const std::string scheme = lower_ascii(between(value.begin, value.end));
        if (scheme == "bearer" || scheme == "basic") {
          value = value_at(skip_blanks(value.end));
        }
        hide(value);
      }
    } else if (option && mark > end && separator != '-' && separator != '\0') {
      hide(value_at(mark));
    }
  }

  /// ://user:password@host
  void look_for_url(std::size_t at) {
    if (text_.substr(at, 3) != "://") {
      return;
    }
    const std::size_t begin = at + 3;
    std::optional<std::size_t> sign;
    for (std::size_t end = begin; end < text_.size(); ++end) {
      const char c = text_[end];
      if (c == '/' || blank(c) || quote(c) || c == '\n' || c == '?') {
        break;
      }
      if (c == '@') {
        sign = end;  // a password may hold one, too
      }
    }
    if (sign && between(begin, *sign) != "git") {
      hide({begin, *sign});
    }
  }

  std::string_view text_;
  std::vector<Part> parts_;
};

}  // namespace

std::string mask_secrets(std::string_view text) {
  std::vector<Part> parts = Search(text).parts();
  std::ranges::sort(parts, {}, &Part::begin);
  std::string masked;
  std::size_t done = 0;
  for (const Part& part : parts) {
    if (part.end <= done) {
      continue;
    }
    if (part.begin >= done) {
      masked += text.substr(done, part.begin - done);
      masked += kMask;
    }
    done = part.end;
  }
  masked += text.substr(std::min(done, text.size()));
  return masked;
}

std::vector<std::string> mask_secrets(std::vector<std::string> words) {
  bool value_of_secret = false;
  for (std::string& word : words) {
    if (value_of_secret && !word.starts_with("--")) {
      word = kMask;
      value_of_secret = false;
      continue;
    }
    const std::size_t equals = word.find('=');
    const bool named = secret_name(std::string_view(word).substr(0, equals));
    value_of_secret = named && equals == std::string::npos && word.starts_with("-");
    word = named && equals != std::string::npos && equals + 1 < word.size()
               ? word.substr(0, equals + 1) + std::string(kMask)
               : mask_secrets(std::string_view(word));
  }
  return words;
}

}  // namespace tunebench
