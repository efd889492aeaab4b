#include "tunebench/model/gguf_blocks.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/model/safetensors.h"

namespace tunebench::model {
namespace {

constexpr std::array<GgufTypeInfo, 7> kTypes = {{
    {GgufType::F32, 0, 1, 4},
    {GgufType::F16, 1, 1, 2},
    {GgufType::Q4_0, 2, 32, 18},
    {GgufType::Q4_1, 3, 32, 20},
    {GgufType::Q8_0, 8, 32, 34},
    {GgufType::Q6_K, 14, 256, 210},
    {GgufType::BF16, 30, 1, 2},
}};

struct CodeName {
  std::uint32_t code;
  std::string_view name;
};
constexpr std::array<CodeName, 36> kNames = {{
    {0, "F32"},       {1, "F16"},      {2, "Q4_0"},   {3, "Q4_1"},    {6, "Q5_0"},
    {7, "Q5_1"},      {8, "Q8_0"},     {9, "Q8_1"},   {10, "Q2_K"},   {11, "Q3_K"},
    {12, "Q4_K"},     {13, "Q5_K"},    {14, "Q6_K"},  {15, "Q8_K"},   {16, "IQ2_XXS"},
    {17, "IQ2_XS"},   {18, "IQ3_XXS"}, {19, "IQ1_S"}, {20, "IQ4_NL"}, {21, "IQ3_S"},
    {22, "IQ2_S"},    {23, "IQ4_XS"},  {24, "I8"},    {25, "I16"},    {26, "I32"},
    {27, "I64"},      {28, "F64"},     {29, "IQ1_M"}, {30, "BF16"},   {34, "TQ1_0"},
    {35, "TQ2_0"},    {39, "MXFP4"},   {4, "Q4_2"},   {5, "Q4_3"},    {31, "Q4_0_4_4"},
    {32, "Q4_0_4_8"},
}};

std::uint16_t u16_at(const std::byte* bytes) {
  return static_cast<std::uint16_t>(std::to_integer<unsigned>(bytes[0]) |
                                    std::to_integer<unsigned>(bytes[1]) << 8U);
}

float half_at(const std::byte* bytes) {
  return float_from_half(u16_at(bytes));
}

int low_nibble(std::byte value) {
  return std::to_integer<int>(value & std::byte{0x0f});
}
int high_nibble(std::byte value) {
  return std::to_integer<int>(value >> 4U);
}
int signed_byte(std::byte value) {
  return std::bit_cast<signed char>(value);
}

// scale, then 16 bytes: element i in the low half of byte i, element i + 16 in the high half.
void decode_q4_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low_nibble(block[2 + i]) - 8);
    out[i + 16] = scale * static_cast<float>(high_nibble(block[2 + i]) - 8);
  }
}

// scale, smallest value, then nibbles as in Q4_0.
void decode_q4_1(const std::byte* block, float* out) {
  const float scale = half_at(block);
  const float smallest = half_at(block + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(low_nibble(block[4 + i])) + smallest;
    out[i + 16] = scale * static_cast<float>(high_nibble(block[4 + i])) + smallest;
  }
}

// scale, then one signed byte an element.
void decode_q8_0(const std::byte* block, float* out) {
  const float scale = half_at(block);
  for (int i = 0; i < 32; ++i) {
    out[i] = scale * static_cast<float>(signed_byte(block[2 + i]));
  }
}

// Two halves of 128 elements. low: 64 bytes of nibbles a half; high: 32 bytes of four 2-bit parts;
// one signed scale for 16 elements; one scale for all.
void decode_q6_k(const std::byte* block, float* out) {
  const float scale = half_at(block + 208);
  for (int half = 0; half < 2; ++half) {
    const std::byte* low = block + 64 * half;
    const std::byte* high = block + 128 + 32 * half;
    const std::byte* scales = block + 192 + 8 * half;
    for (int i = 0; i < 32; ++i) {
      const std::array<int, 4> nibbles = {low_nibble(low[i]), low_nibble(low[i + 32]),
                                          high_nibble(low[i]), high_nibble(low[i + 32])};
      for (int part = 0; part < 4; ++part) {
        const int top = (std::to_integer<int>(high[i]) >> (2 * part)) & 3;
        const int value = (nibbles[static_cast<std::size_t>(part)] | (top << 4)) - 32;
        const float local = scale * static_cast<float>(signed_byte(scales[i / 16 + 2 * part]));
        out[128 * half + 32 * part + i] = local * static_cast<float>(value);
      }
    }
  }
}

void decode_block(GgufType type, const std::byte* block, float* out) {
  switch (type) {
    case GgufType::F32:
      std::memcpy(out, block, sizeof(float));
      break;
    case GgufType::F16:
      *out = half_at(block);
      break;
    case GgufType::BF16:
      *out = float_from_bfloat16(u16_at(block));
      break;
    case GgufType::Q8_0:
      decode_q8_0(block, out);
      break;
    case GgufType::Q4_0:
      decode_q4_0(block, out);
      break;
    case GgufType::Q4_1:
      decode_q4_1(block, out);
      break;
    case GgufType::Q6_K:
      decode_q6_k(block, out);
      break;
  }
}

}  // namespace

const GgufTypeInfo& gguf_type_info(GgufType type) {
  return *std::find_if(kTypes.begin(), kTypes.end(),
                       [&](const GgufTypeInfo& info) { return info.type == type; });
}

std::optional<GgufType> gguf_type_from_code(std::uint32_t code) {
  const auto found = std::find_if(kTypes.begin(), kTypes.end(),
                                  [&](const GgufTypeInfo& info) { return info.code == code; });
  return found == kTypes.end() ? std::nullopt : std::optional(found->type);
}

std::string gguf_type_name(std::uint32_t code) {
  const auto found = std::find_if(kNames.begin(), kNames.end(),
                                  [&](const CodeName& entry) { return entry.code == code; });
  return found == kNames.end() ? fmt::format("type {}", code) : std::string(found->name);
}

void decode_gguf_blocks(GgufType type, std::span<const std::byte> bytes, std::span<float> out) {
  const GgufTypeInfo& info = gguf_type_info(type);
  const std::size_t blocks = out.size() / info.block;
  TB_CHECK(blocks * info.block == out.size() && blocks * info.bytes == bytes.size());
  for (std::size_t block = 0; block < blocks; ++block) {
    decode_block(type, bytes.data() + block * info.bytes, out.data() + block * info.block);
  }
}

}  // namespace tunebench::model
