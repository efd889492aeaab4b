#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "tunebench/data/json_part.h"
#include "tunebench/data/pattern.h"
#include "tunebench/data/unicode.h"

namespace tunebench::data {

/// The member `pattern` of a Split or Replace: {"String": text} or {"Regex": expression}.
/// Errors: InvalidInput, Unsupported; the message names the part.
Pattern parse_pattern(const JsonPart& part);

/// Calls body(Span) for each match in order until it returns false. An empty match is stepped over,
/// and not passed on when another match has just ended there.
template <typename Body>
void for_each_match(const Pattern& pattern, std::string_view text, Body&& body) {
  std::size_t from = 0;
  std::optional<std::size_t> last_end;
  while (from <= text.size()) {
    const std::optional<Span> match = pattern.find(text, from);
    if (!match) {
      return;
    }
    from = match->end;
    if (!(match->empty() && last_end == match->end) && !body(*match)) {
      return;
    }
    last_end = match->end;
    if (match->empty()) {
      from += from < text.size() ? code_point_length(text[from]) : 1;
    }
  }
}

}  // namespace tunebench::data
