#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tunebench/data/pattern.h"

namespace tunebench::data {

/// A token that is found in the text before any other step.
struct AddedToken {
  std::string content;
  std::int32_t id = 0;
  bool single_word = false;  ///< only where no word character touches it
  bool lstrip = false;       ///< takes the white space before it
  bool rstrip = false;       ///< takes the white space after it
  bool normalized = true;    ///< looked for after normalizing the text, not before
};

/// Finds added tokens: at each place the longest, from left to right.
class AddedTokens {
 public:
  void add(AddedToken token);
  [[nodiscard]] bool empty() const { return tokens_.empty(); }

  /// Calls on_text(Span) for what lies between tokens and on_token(id) for each token, in order,
  /// until one of them returns false. Returns false in that case.
  template <typename OnText, typename OnToken>
  bool split(std::string_view text, OnText&& on_text, OnToken&& on_token) const {
    std::size_t done = 0;
    std::size_t from = 0;
    while (!tokens_.empty()) {
      const std::optional<Found> found = find(text, from, done);
      if (!found) {
        break;
      }
      from = found->next;
      if (found->span.begin > done && !on_text(Span{.begin = done, .end = found->span.begin})) {
        return false;
      }
      // Nothing is left of a token inside the white space that the one before it has taken.
      if (found->span.begin < found->span.end && !on_token(found->id)) {
        return false;
      }
      done = found->span.end;
    }
    return done >= text.size() || on_text(Span{.begin = done, .end = text.size()});
  }

 private:
  struct Found {
    Span span;
    std::int32_t id = 0;
    std::size_t next = 0;  ///< where to look on
  };
  /// The next token at or after `from`; it takes no white space before `done`.
  [[nodiscard]] std::optional<Found> find(std::string_view text, std::size_t from,
                                          std::size_t done) const;
  [[nodiscard]] const AddedToken* longest_at(std::string_view text, std::size_t at) const;

  std::unordered_map<std::string, AddedToken> tokens_;
  /// Lengths of the tokens that begin with each byte, longest first.
  std::array<std::vector<std::size_t>, 256> lengths_;
};

}  // namespace tunebench::data
