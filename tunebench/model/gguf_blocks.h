#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace tunebench::model {

/// How numbers lie in a GGUF file: `block` elements share `bytes` bytes.
enum class GgufType { F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q6_K };
struct GgufTypeInfo {
  GgufType type;
  std::uint32_t code;  ///< as the file writes it
  std::size_t block;
  std::size_t bytes;
};
const GgufTypeInfo& gguf_type_info(GgufType type);

/// The type with that code, if this program reads it.
std::optional<GgufType> gguf_type_from_code(std::uint32_t code);
/// Its name in the format, also of types that are not read: "Q4_K", "type 99".
std::string gguf_type_name(std::uint32_t code);

/// Decodes whole blocks: bytes.size() / info.bytes * info.block == out.size().
/// Source of the layouts: github.com/ggml-org/ggml src/ggml-common.h (block_q4_0 and so on).
void decode_gguf_blocks(GgufType type, std::span<const std::byte> bytes, std::span<float> out);

}  // namespace tunebench::model
