#include "tunebench/data/pattern_part.h"

#include <string>

namespace tunebench::data {

Pattern parse_pattern(const JsonPart& part) {
  const JsonPart pattern = part.part("pattern");
  pattern.expect_only({"String", "Regex"});
  if (pattern.find("Regex") == nullptr) {
    const std::string text = pattern.string("String");
    if (text.empty()) {
      pattern.fail("is an empty text");
    }
    return Pattern::literal(text);
  }
  if (pattern.find("String") != nullptr) {
    pattern.fail("has both 'String' and 'Regex'");
  }
  const std::string expression = pattern.string("Regex");
  try {
    return Pattern::regex(expression);
  } catch (const Error& error) {
    part.fail(error.code(), "is refused: " + error.message());
  }
}

}  // namespace tunebench::data
