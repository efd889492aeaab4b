#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/expression/expression.h"

namespace tunebench::expression {

/// Bounds of an expression's text, so that reading and evaluating it is bounded, too.
inline constexpr std::size_t kLongestText = 10000;
inline constexpr int kDeepestNesting = 50;

enum class TokenKind { Word, Number, String, Sign, End };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text = {};  ///< as it stands
  std::size_t offset = 0;
};

/// Ends reading an expression; never leaves this folder.
struct SyntaxError {
  Mistake mistake;
};

/// The tokens, the last being End. Errors: SyntaxError.
std::vector<Token> read_tokens(std::string_view text);

/// What an expression consists of: pieces of SQL, to be joined by blanks.
struct Piece {
  bool is_name = false;  ///< then `text` is one of the names
  std::string text;
};

/// Adds to `mistakes`; the pieces are to be used only when it added none. Throws nothing.
std::vector<Piece> parse(std::string_view text, std::span<const std::string> names,
                         std::vector<Mistake>& mistakes);

}  // namespace tunebench::expression
