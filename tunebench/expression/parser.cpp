#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/expression/internal/functions.h"
#include "tunebench/expression/internal/syntax.h"

namespace tunebench::expression {
namespace {

constexpr std::array<std::string_view, 10> kOwnWords = {"and", "or",   "not",  "in",    "like",
                                                        "is",  "null", "true", "false", "between"};
constexpr std::array<std::string_view, 24> kForbiddenWords = {
    "select",  "from",   "where",  "union",  "values", "with",   "case",   "cast",
    "collate", "exists", "glob",   "match",  "regexp", "escape", "order",  "group",
    "limit",   "having", "attach", "pragma", "insert", "update", "delete", "drop"};

template <std::size_t Count>
bool holds_word(const std::array<std::string_view, Count>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// Recursive descent over the tokens. What it takes is a subset of SQLite's expressions with the
/// same precedence, so that the pieces mean the same there.
class Parser {
 public:
  Parser(std::string_view text, std::span<const std::string> names, std::vector<Mistake>& mistakes)
      : tokens_(read_tokens(text)), names_(names), mistakes_(mistakes) {}

  std::vector<Piece> whole() {
    disjunction();
    if (here().kind != TokenKind::End) {
      fail_here(is_sign(")")
                    ? "this ')' closes nothing"
                    : fmt::format("expected 'and', 'or' or an operator, found {}", found()));
    }
    return std::move(pieces_);
  }

 private:
  [[nodiscard]] const Token& here() const { return tokens_[at_]; }
  [[nodiscard]] std::string lower_word() const {
    return here().kind == TokenKind::Word ? lower_ascii(here().text) : std::string();
  }
  [[nodiscard]] bool is_word(std::string_view word) const { return lower_word() == word; }
  [[nodiscard]] bool is_sign(std::string_view sign) const {
    return here().kind == TokenKind::Sign && here().text == sign;
  }
  [[nodiscard]] std::string found() const {
    return here().kind == TokenKind::End ? "the end" : fmt::format("'{}'", excerpt(here().text));
  }

  [[noreturn]] void fail_here(std::string text, std::string hint = {}) const {
    throw SyntaxError{{here().offset, std::move(text), std::move(hint)}};
  }

  void emit(std::string sql) { pieces_.push_back({false, std::move(sql)}); }
  void take_as(std::string sql) {
    emit(std::move(sql));
    ++at_;
  }
  void expect(std::string_view sign) {
    if (!is_sign(sign)) {
      fail_here(fmt::format("expected '{}', found {}", sign, found()));
    }
    take_as(std::string(sign));
  }

  void enter() {
    if (++depth_ > kDeepestNesting) {
      fail_here(fmt::format("nested more than {} deep", kDeepestNesting));
    }
  }
  void leave() { --depth_; }

  void disjunction() {
    conjunction();
    while (is_word("or")) {
      take_as("OR");
      conjunction();
    }
  }

  void conjunction() {
    negation();
    while (is_word("and")) {
      take_as("AND");
      negation();
    }
  }

  void negation() {
    if (is_word("not")) {
      enter();
      take_as("NOT");
      negation();
      leave();
    } else {
      comparison();
    }
  }

  [[nodiscard]] bool is_null_between(std::size_t begin, std::size_t end) const {
    return end == begin + 1 && tokens_[begin].kind == TokenKind::Word &&
           lower_ascii(tokens_[begin].text) == "null";
  }

  void comparison() {
    const std::size_t left = at_;
    sum();
    const std::size_t left_end = at_;
    if (!comparison_tail(left, left_end)) {
      return;
    }
    // SQL takes 1 < x < 5 as (1 < x) < 5, which always holds.
    if (here().kind == TokenKind::Sign && is_comparison(here().text)) {
      fail_here("a comparison of a comparison", "write 'a < x and x < b', or use parentheses");
    }
    if (is_word("in") || is_word("like") || is_word("between") || is_word("is")) {
      fail_here(fmt::format("'{}' of a comparison; use parentheses", lower_word()));
    }
  }

  static bool is_comparison(std::string_view sign) {
    return sign == "=" || sign == "==" || sign == "!=" || sign == "<>" || sign == "<" ||
           sign == "<=" || sign == ">" || sign == ">=";
  }

  /// What may follow the left side; false when it stands alone.
  bool comparison_tail(std::size_t left, std::size_t left_end) {
    if (here().kind == TokenKind::Sign && is_comparison(here().text)) {
      sign_comparison(left, left_end);
      return true;
    }
    if (is_word("is")) {
      take_as("IS");
      if (is_word("not")) {
        take_as("NOT");
      }
      sum();
      return true;
    }
    if (is_word("not")) {
      take_as("NOT");
      if (!is_word("in") && !is_word("like") && !is_word("between")) {
        fail_here(fmt::format("expected 'in', 'like' or 'between', found {}", found()));
      }
    }
    if (is_word("in")) {
      take_as("IN");
      expect("(");
      list();
      return true;
    }
    if (is_word("like")) {
      take_as("LIKE");
      sum();
      return true;
    }
    if (is_word("between")) {
      take_as("BETWEEN");
      sum();
      if (!is_word("and")) {
        fail_here(fmt::format("expected 'and' of 'between', found {}", found()));
      }
      take_as("AND");
      sum();
      return true;
    }
    return false;
  }

  /// == and != of null mean what they say, which in SQL they do not.
  void sign_comparison(std::size_t left, std::size_t left_end) {
    const std::string_view sign = here().text;
    const bool equal = sign == "=" || sign == "==";
    const bool unequal = sign == "!=" || sign == "<>";
    const std::size_t place = pieces_.size();
    const Token operator_token = here();
    take_as(equal ? "=" : unequal ? "<>" : std::string(sign));
    const std::size_t right = at_;
    sum();
    if (!is_null_between(left, left_end) && !is_null_between(right, at_)) {
      return;
    }
    if (!equal && !unequal) {
      throw SyntaxError{{operator_token.offset, fmt::format("'{}' of null never holds", sign),
                         "write 'x == null' or 'x != null'"}};
    }
    pieces_[place].text = equal ? "IS" : "IS NOT";
  }

  void sum() {
    product();
    while (is_sign("+") || is_sign("-")) {
      take_as(std::string(here().text));
      product();
    }
  }

  void product() {
    factor();
    while (is_sign("*") || is_sign("/") || is_sign("%")) {
      // 7 / 2 is 3.5, not SQL's 3. The product with 1.0 binds as the quotient does.
      take_as(is_sign("/") ? "* 1.0 /" : std::string(here().text));
      factor();
    }
  }

  void factor() {
    if (is_sign("-") || is_sign("+")) {
      enter();
      take_as(std::string(here().text));
      factor();
      leave();
      return;
    }
    primary();
  }

  void primary() {
    switch (here().kind) {
      case TokenKind::Number:
        return take_as(std::string(here().text));
      case TokenKind::String:
        return take_as(string_literal(here().text));
      case TokenKind::Word:
        return word();
      case TokenKind::Sign:
        if (is_sign("(")) {
          enter();
          take_as("(");
          disjunction();
          expect(")");
          return leave();
        }
        break;
      case TokenKind::End:
        break;
    }
    fail_here(fmt::format("expected a name or a value, found {}", found()));
  }

  /// In single quotes: SQL takes a text in double quotes for a column when there is one.
  static std::string string_literal(std::string_view written) {
    const char quote = written.front();
    std::string sql = "'";
    for (std::size_t i = 1; i + 1 < written.size(); ++i) {
      sql += written[i];
      if (written[i] == '\'' && quote == '"') {
        sql += '\'';
      }
      if (written[i] == quote) {
        if (quote == '\'') {
          sql += '\'';
        }
        ++i;
      }
    }
    return sql + "'";
  }

  void word() {
    const std::string lower = lower_word();
    if (lower == "null" || lower == "true" || lower == "false") {
      return take_as(lower == "null" ? "NULL" : lower == "true" ? "TRUE" : "FALSE");
    }
    if (holds_word(kOwnWords, lower)) {
      fail_here(fmt::format("expected a name or a value, found {}", found()));
    }
    const bool is_call = tokens_[at_ + 1].kind == TokenKind::Sign && tokens_[at_ + 1].text == "(";
    if (is_call) {
      return call(lower);
    }
    const std::string_view name = here().text;
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
      pieces_.push_back({true, std::string(name)});
      ++at_;
      return;
    }
    if (holds_word(kForbiddenWords, lower)) {
      fail_here(fmt::format("'{}' is not part of expressions", lower));
    }
    mistakes_.push_back(
        {here().offset, fmt::format("unknown name '{}'", excerpt(name)),
         lower == "none" || lower == "nil" ? "did you mean 'null'?" : did_you_mean(name, names_)});
    take_as("NULL");
  }

  void call(const std::string& name) {
    const Function* function = find_function(name);
    if (function == nullptr) {
      fail_here(holds_word(kForbiddenWords, name)
                    ? fmt::format("'{}' is not part of expressions", name)
                    : fmt::format("unknown function '{}'", excerpt(here().text)),
                name == "log" ? "write ln, log2 or log10" : did_you_mean(name, function_names()));
    }
    const std::size_t start = at_;
    take_as(name);
    take_as("(");
    const int count = is_sign(")") ? (take_as(")"), 0) : list();
    if (count < function->fewest || count > function->most) {
      at_ = start;
      fail_here(fmt::format("{} takes {} value{}, not {}", name, arity(*function),
                            function->most == 1 ? "" : "s", count));
    }
  }

  static std::string arity(const Function& function) {
    if (function.fewest == function.most) {
      return fmt::format("{}", function.fewest);
    }
    return function.most == 3 || function.most == 2
               ? fmt::format("{} or {}", function.fewest, function.most)
               : fmt::format("{} to {}", function.fewest, function.most);
  }

  /// Values separated by commas, and the closing parenthesis; how many they were.
  int list() {
    enter();
    int count = 0;
    while (true) {
      disjunction();
      ++count;
      if (!is_sign(",")) {
        break;
      }
      take_as(",");
    }
    expect(")");
    leave();
    return count;
  }

  std::vector<Token> tokens_;
  std::span<const std::string> names_;
  std::vector<Mistake>& mistakes_;
  std::vector<Piece> pieces_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

std::vector<Piece> parse(std::string_view text, std::span<const std::string> names,
                         std::vector<Mistake>& mistakes) {
  try {
    return Parser(text, names, mistakes).whole();
  } catch (const SyntaxError& error) {
    mistakes.push_back(error.mistake);
    return {};
  }
}

}  // namespace tunebench::expression
