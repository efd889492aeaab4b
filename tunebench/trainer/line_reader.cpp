#include "tunebench/trainer/line_reader.h"

#include <utility>

#include "tunebench/base/text.h"

namespace tunebench::trainer {

void LineReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (!too_long_ && line_.size() + piece.size() > kLongestLine) {
      too_long_ = true;
      line_.clear();
    }
    if (!too_long_) {
      line_ += piece;
    }
    if (end == std::string_view::npos) {
      return;
    }
    end_line();
    bytes.remove_prefix(end + 1);
  }
}

void LineReader::finish() {
  if (too_long_ || !line_.empty()) {
    end_line();
  }
}

std::optional<Event> LineReader::take() {
  if (events_.empty()) {
    return std::nullopt;
  }
  Event first = std::move(events_.front());
  events_.pop_front();
  return first;
}

void LineReader::end_line() {
  std::optional<Event> event = too_long_ ? std::nullopt : parse_event(line_);
  if (event.has_value()) {
    events_.push_back(std::move(*event));
  } else if (too_long_ || !trim(line_).empty()) {
    ++dropped_;
  }
  line_.clear();
  too_long_ = false;
}

}  // namespace tunebench::trainer
