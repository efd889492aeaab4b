#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tunebench::data {

/// Where a string stands in a line, without its quotes.
struct RawString {
  std::size_t begin = 0;
  std::size_t length = 0;
  bool escaped = false;  ///< has backslashes, so it must go through unescape_json
};

/// Finds the string member `field` of a record without building the record, several times faster
/// than a full parse. Only records of strings, whole numbers, true, false and null are decided
/// here. Nothing is returned for any other record, right or wrong: the caller then parses it in
/// full.
std::optional<RawString> find_string_member(std::string_view line, std::string_view field);

/// The text of a JSON string whose escapes were checked by find_string_member.
std::string unescape_json(std::string_view raw);

}  // namespace tunebench::data
