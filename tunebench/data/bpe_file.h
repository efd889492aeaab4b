#pragma once

#include <cstdint>

#include "tunebench/data/bpe.h"
#include "tunebench/data/json_part.h"

namespace tunebench::data {

/// The tables and flags of a tokenizer file's `model`. The merges point into the document.
struct BpeFile {
  Vocabulary vocabulary;
  MergeList merges;
  BpeOptions options;
  std::int64_t largest_id = -1;
};

/// Merges in either form, "a b" or ["a", "b"]; a first line "#version" is skipped.
/// Errors: Unsupported for a model that is not BPE or draws merges at random; InvalidInput.
BpeFile parse_bpe_file(const JsonPart& model);

}  // namespace tunebench::data
