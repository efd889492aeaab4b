#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tunebench/data/json_part.h"

namespace tunebench::data {

/// Takes pieces of text one after the other.
class PieceSink {
 public:
  virtual ~PieceSink() = default;
  /// at_start: the piece begins where the whole input begins. The piece is not empty and valid only
  /// during the call. Returns false when no more pieces are wanted.
  virtual bool take(std::string_view piece, bool at_start) = 0;
};

/// Cuts text into the pieces that the model never merges across. Thread-safe.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Gives the pieces of `piece` to `sink` in order. Returns false when the sink wanted no more.
  virtual bool cut(std::string_view piece, bool at_start, PieceSink& sink) const = 0;
  /// The same cuts, but pieces keep their bytes instead of byte letters. Null for a step that makes
  /// no byte letters.
  [[nodiscard]] virtual std::unique_ptr<PreTokenizer> without_byte_letters() const {
    return nullptr;
  }
};

using PreTokenizers = std::vector<std::unique_ptr<PreTokenizer>>;

/// The steps of a tokenizer file's `pre_tokenizer`; a Sequence is laid out flat.
/// Errors: Unsupported naming a type that is not known; InvalidInput.
PreTokenizers parse_pre_tokenizers(const JsonPart& part);

/// Sends `piece` through all steps, each step's pieces through the next. Returns false when the
/// sink wanted no more.
bool cut_by_all(const PreTokenizers& steps, std::string_view piece, bool at_start, PieceSink& sink);

}  // namespace tunebench::data
