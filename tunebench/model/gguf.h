#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tunebench::model {

struct ImportSummary {
  std::int64_t tensors = 0;
  std::int64_t parameters = 0;
  std::string stored_dtype;  ///< bfloat16
  std::int64_t vocabulary = 0;
};

/// Turns a GGUF file of the Llama family into a Hugging Face folder: config.json,
/// model.safetensors (bfloat16), tokenizer.json (byte-level BPE from the file's metadata).
/// Tensor types: F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q6_K. GGUF keeps Llama's q and k rows in
/// interleaved-pair order; they are put back into Hugging Face's half-split order.
/// `folder` appears complete or not at all.
/// Errors: Corrupt with file and what does not fit; Unsupported naming the tensor type,
/// architecture or tokenizer model; InvalidInput when `folder` exists and is not empty.
/// Source: github.com/ggml-org/ggml docs/gguf.md.
ImportSummary import_gguf(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace tunebench::model
