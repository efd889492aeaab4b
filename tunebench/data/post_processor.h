#pragma once

#include <cstdint>
#include <vector>

#include "tunebench/data/json_part.h"

namespace tunebench::data {

/// Special tokens that a post-processor puts around the ids of one text.
struct Surroundings {
  std::vector<std::int32_t> before;
  std::vector<std::int32_t> after;
};

/// Reads a tokenizer file's `post_processor`: TemplateProcessing (its form for one text), ByteLevel
/// (which changes no ids), BertProcessing, RobertaProcessing, Sequence.
/// Errors: Unsupported naming a type that is not known; InvalidInput.
Surroundings parse_post_processor(const JsonPart& part);

}  // namespace tunebench::data
