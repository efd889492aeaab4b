#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tunebench/data/json_part.h"

namespace tunebench::data {

/// One change of the text before it is cut into pieces. Thread-safe.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// at_start: the text's first character is the first of the whole input; set to false when that
  /// character is taken away.
  virtual void apply(std::string& text, bool& at_start) const = 0;
};

/// The steps of a tokenizer file's `normalizer`; a Sequence is laid out flat.
/// Errors: Unsupported naming a type that is not known; InvalidInput.
std::vector<std::unique_ptr<Normalizer>> parse_normalizers(const JsonPart& part);

}  // namespace tunebench::data
