#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"

namespace tunebench::data {

/// Text to token ids. Thread-safe once made.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// Ids of `text`. add_special: run the post-processor (bos and the like). Stops early once
  /// `limit` ids exist (limit < 0: no limit), which gives the same first ids as without.
  /// Errors: InvalidInput when the text is not UTF-8.
  [[nodiscard]] virtual std::vector<std::int32_t> encode(std::string_view text, bool add_special,
                                                         std::int64_t limit = -1) const = 0;
  /// One more than the largest id.
  [[nodiscard]] virtual std::int64_t vocabulary() const = 0;
  /// "byte" or the file it was read from.
  [[nodiscard]] virtual const std::string& name() const = 0;
};

/// id = 3 + byte; 0 pad, 1 bos, 2 eos, none of them added. For presets, which have no tokenizer.
std::unique_ptr<Tokenizer> make_byte_tokenizer();

/// Reads tokenizer.json: byte-level BPE with all that the file states (normalizer NFC/Lowercase/
/// Prepend/Replace/Sequence, pre-tokenizers ByteLevel/Split/Digits/Metaspace/Sequence, added-token
/// flags, ignore_merges, byte_fallback, template post-processor). A part of the file that is not
/// understood is refused by name, never skipped.
/// Errors: InvalidInput, Unsupported; messages start with `origin`.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& tokenizer_json);
std::unique_ptr<Tokenizer> parse_tokenizer(const Json& document, std::string_view origin);

}  // namespace tunebench::data
