#pragma once

#include <cstdint>
#include <optional>

#include "tunebench/base/json.h"
#include "tunebench/model/gguf_file.h"

namespace tunebench::model {

/// The tokenizer in a GGUF file's metadata, in the words of Hugging Face.
struct ImportedTokenizer {
  Json tokenizer;         ///< tokenizer.json
  Json tokenizer_config;  ///< tokenizer_config.json: special tokens by name, chat template
  std::int64_t tokens = 0;
  std::optional<std::int64_t> bos;
  std::optional<std::int64_t> eos;
  std::optional<std::int64_t> pad;
};

/// Byte-level BPE only (tokenizer.ggml.model gpt2). tokenizer.ggml.pre decides how text is split.
/// Errors: Unsupported naming the tokenizer model or the splitting; Corrupt for tokens, merges or
/// ids that do not fit together.
ImportedTokenizer import_tokenizer(const GgufFile& file);

}  // namespace tunebench::model
