#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

#include "tunebench/trainer/event.h"

namespace tunebench::trainer {

/// Puts bytes of a stream together to lines and lines to events.
class LineReader {
 public:
  /// A line longer than this is dropped, so that a broken trainer cannot fill the memory.
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;

  void feed(std::string_view bytes);
  /// The stream has ended: what stands in the last, unended line counts if it is a whole event.
  void finish();
  /// The next event in order.
  std::optional<Event> take();
  [[nodiscard]] std::int64_t dropped_lines() const { return dropped_; }

 private:
  void end_line();
  std::string line_;
  bool too_long_ = false;
  std::deque<Event> events_;
  std::int64_t dropped_ = 0;
};

}  // namespace tunebench::trainer
