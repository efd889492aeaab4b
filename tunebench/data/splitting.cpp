#include "tunebench/data/splitting.h"

namespace tunebench::data {

bool Splitter::emit(Span span) {
  if (!span.empty()) {
    wanted_ = sink_.take(span.of(text_), at_start_ && span.begin == 0);
  }
  return wanted_;
}

/// Holds one piece back, because what follows may belong to it.
bool Splitter::merge(Span span, bool is_match, bool joins_pending) {
  previous_was_match_ = is_match;
  if (pending_ && joins_pending) {
    pending_->end = span.end;
    return true;
  }
  const bool go_on = !pending_ || emit(*pending_);
  pending_ = span;
  return go_on;
}

bool Splitter::add(Span span, bool is_match) {
  is_match = is_match != invert_;
  switch (behavior_) {
    case SplitBehavior::Removed:
      return is_match || emit(span);
    case SplitBehavior::Isolated:
      return emit(span);
    case SplitBehavior::MergedWithPrevious:
      return merge(span, is_match, is_match && !previous_was_match_);
    case SplitBehavior::MergedWithNext:
      return merge(span, is_match, !is_match && previous_was_match_);
    case SplitBehavior::Contiguous:
      return merge(span, is_match, is_match == previous_was_match_);
  }
  return true;
}

bool Splitter::match(Span span) {
  if (span.begin > done_ && !add({.begin = done_, .end = span.begin}, false)) {
    return false;
  }
  done_ = span.end;
  return add(span, true);
}

bool Splitter::finish() {
  if (wanted_ && done_ < text_.size()) {
    const Span rest{.begin = done_, .end = text_.size()};
    done_ = text_.size();
    add(rest, false);
  }
  if (wanted_ && pending_) {
    const Span last = *pending_;
    pending_.reset();
    emit(last);
  }
  return wanted_;
}

}  // namespace tunebench::data
