#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "tunebench/data/pattern.h"
#include "tunebench/data/pre_tokenizer.h"
#include "tunebench/data/unicode.h"

namespace tunebench::data {

/// What becomes of the text that matched.
enum class SplitBehavior { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

/// Turns a row of matches and gaps into pieces by one behaviour, piece by piece.
class Splitter {
 public:
  Splitter(std::string_view text, bool at_start, SplitBehavior behavior, bool invert,
           PieceSink& sink)
      : text_(text), at_start_(at_start), behavior_(behavior), invert_(invert), sink_(sink) {}

  /// The next match; matches come in order and do not overlap. Returns false when no more are
  /// wanted.
  bool match(Span span);
  /// The text's end. Returns false when the sink wanted no more pieces.
  bool finish();

 private:
  bool add(Span span, bool is_match);
  bool merge(Span span, bool is_match, bool joins_pending);
  bool emit(Span span);

  std::string_view text_;
  bool at_start_;
  SplitBehavior behavior_;
  bool invert_;
  PieceSink& sink_;
  std::size_t done_ = 0;
  std::optional<Span> pending_;
  bool previous_was_match_ = false;
  bool wanted_ = true;
};

/// Cuts at each code point for which is_match(point) holds.
template <typename IsMatch>
bool split_by_character(std::string_view text, bool at_start, SplitBehavior behavior,
                        PieceSink& sink, IsMatch&& is_match) {
  Splitter splitter(text, at_start, behavior, false, sink);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    if (is_match(next_code_point(text, at)) && !splitter.match({.begin = begin, .end = at})) {
      return false;
    }
  }
  return splitter.finish();
}

}  // namespace tunebench::data
