#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tunebench {

/// One mistake of the user. Shown as "where: text - hint" ("where: " only when it is set).
struct Diagnostic {
  std::string where;         ///< "plan.yaml:9:5", "--batch", or empty
  std::string text;          ///< what is wrong, with the value and what would be right
  std::string hint;          ///< "did you mean 'batch_size'?", or empty
  std::string snippet = {};  ///< the line of a file with a mark under the word, or empty

  /// All in one line, without the snippet.
  [[nodiscard]] std::string line() const;
  /// With the snippet below; then the hint stands behind its mark.
  [[nodiscard]] std::string text_block() const;
};

/// Whether `where` names a line and column of a file: "plan.yaml:9:5".
bool is_place(std::string_view where);

/// All mistakes found, so that a user gets them in one go.
using Diagnostics = std::vector<Diagnostic>;

/// The candidate closest to `word`: edit distance at most 2, or 1 for words of up to three letters
/// (a transposition counts one); failing that, the only one that `word` is a prefix of. Case and
/// - against _ do not count. Of equally close ones the first.
std::optional<std::string> nearest_word(std::string_view word,
                                        std::span<const std::string> candidates);

/// "did you mean 'x'?" for the nearest candidate, or an empty string.
std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace tunebench
