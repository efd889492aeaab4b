#pragma once

#include <cstdint>

#include "tunebench/data/dataset.h"
#include "tunebench/data/tokenizer.h"

namespace tunebench::data {

/// Tokens of each entry as it would be trained uncut: with the special tokens that the tokenizer's
/// post-processor adds.
struct TokenCounts {
  std::int64_t entries = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
  std::int64_t total = 0;
  [[nodiscard]] double mean() const {
    return entries == 0 ? 0.0 : static_cast<double>(total) / static_cast<double>(entries);
  }
};

/// threads < 1: as many as the process may run on.
/// Errors: InvalidInput from the tokenizer.
TokenCounts count_tokens(const Dataset& dataset, const Tokenizer& tokenizer, int threads = 0);

}  // namespace tunebench::data
