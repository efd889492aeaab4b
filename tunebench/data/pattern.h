#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace tunebench::data {

/// A place in a text.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
  [[nodiscard]] bool empty() const { return begin == end; }
  [[nodiscard]] std::string_view of(std::string_view text) const {
    return text.substr(begin, end - begin);
  }
};

/// What a tokenizer file searches for: a text, or a regular expression. Thread-safe.
///
/// Regular expressions of tokenizer.json are written for Oniguruma; they run here under PCRE2.
/// Where both read a construct differently it is rewritten (\s, \w, ^, $), and what cannot be is
/// refused when the file is read: \h, \b, class intersections, {n,m}+ and the like. Source:
/// github.com/kkos/oniguruma doc/RE, pcre.org pcre2pattern.
class Pattern {
 public:
  static Pattern literal(std::string text);
  /// Errors: Unsupported or InvalidInput; the message says what is wrong with the expression.
  static Pattern regex(std::string_view expression);

  Pattern(Pattern&& other) noexcept;
  Pattern& operator=(Pattern&& other) noexcept;
  ~Pattern();

  /// The first match that begins at or after `from`. `text` must be UTF-8.
  /// Errors: InvalidInput when matching needs more memory than it may use.
  [[nodiscard]] std::optional<Span> find(std::string_view text, std::size_t from) const;

 private:
  struct Compiled;
  explicit Pattern(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

/// The PCRE2 form of an Oniguruma expression. Errors: Unsupported naming the construct.
std::string pcre2_expression(std::string_view oniguruma);

}  // namespace tunebench::data
