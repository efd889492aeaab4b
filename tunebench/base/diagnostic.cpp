#include "tunebench/base/diagnostic.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "tunebench/base/text.h"

namespace tunebench {
namespace {

std::string folded(std::string_view word) {
  std::string text = lower_ascii(word);
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

/// Damerau-Levenshtein distance in which no piece is edited twice: insert, delete, replace or swap
/// two neighbours, one each.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> before(width);
  std::vector<std::size_t> previous(width);
  std::vector<std::size_t> current(width);
  for (std::size_t j = 0; j < width; ++j) {
    previous[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (std::size_t j = 1; j < width; ++j) {
      const std::size_t replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      current[j] = std::min({replaced, previous[j] + 1, current[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

/// Longer words than this are no slip of the finger, and the distance costs their product.
constexpr std::size_t kLongestWord = 200;

}  // namespace

std::string Diagnostic::line() const {
  std::string line = where.empty() ? text : fmt::format("{}: {}", where, text);
  if (!hint.empty()) {
    line += fmt::format(" - {}", hint);
  }
  return line;
}

bool is_place(std::string_view where) {
  for (int part = 0; part < 2; ++part) {
    const std::size_t colon = where.rfind(':');
    if (colon == std::string_view::npos || !parse_int(where.substr(colon + 1))) {
      return false;
    }
    where = where.substr(0, colon);
  }
  return !where.empty();
}

std::string Diagnostic::text_block() const {
  if (snippet.empty()) {
    return line();
  }
  return Diagnostic{where, text, ""}.line() + "\n" + snippet + (hint.empty() ? "" : " " + hint);
}

std::optional<std::string> nearest_word(std::string_view word,
                                        std::span<const std::string> candidates) {
  if (word.empty() || word.size() > kLongestWord) {
    return std::nullopt;
  }
  const std::string wanted = folded(word);
  const std::size_t allowed = wanted.size() <= 3 ? 1 : 2;
  std::size_t best = allowed + 1;
  const std::string* nearest = nullptr;
  const std::string* continued = nullptr;
  std::size_t continuations = 0;
  for (const std::string& candidate : candidates) {
    const std::string other = folded(candidate);
    if (other.starts_with(wanted)) {
      continued = &candidate;
      ++continuations;
    }
    const std::size_t gap =
        std::max(other.size(), wanted.size()) - std::min(other.size(), wanted.size());
    if (gap > allowed) {
      continue;
    }
    const std::size_t distance = edit_distance(wanted, other);
    if (distance < best) {
      best = distance;
      nearest = &candidate;
    }
  }
  if (nearest == nullptr && continuations == 1) {
    nearest = continued;
  }
  return nearest == nullptr ? std::nullopt : std::optional<std::string>(*nearest);
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::optional<std::string> nearest = nearest_word(word, candidates);
  return nearest ? fmt::format("did you mean '{}'?", *nearest) : std::string();
}

}  // namespace tunebench
