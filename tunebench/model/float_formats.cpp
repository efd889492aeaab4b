#include <bit>
#include <cstdint>

#include "tunebench/model/safetensors.h"

namespace tunebench::model {

float float_from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

std::uint16_t bfloat16_from_float(float value) {
  constexpr std::uint32_t kMagnitude = 0x7fffffffU;
  constexpr std::uint32_t kInfinity = 0x7f800000U;
  constexpr std::uint32_t kQuiet = 0x0040U;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & kMagnitude) > kInfinity) {
    return static_cast<std::uint16_t>((bits >> 16U) | kQuiet);
  }
  const std::uint32_t tie_to_even = (bits >> 16U) & 1U;
  return static_cast<std::uint16_t>((bits + 0x7fffU + tie_to_even) >> 16U);
}

float float_from_half(std::uint16_t bits) {
  const std::uint32_t sign = (bits & 0x8000U) << 16U;
  const std::uint32_t exponent = (bits >> 10U) & 0x1fU;
  const std::uint32_t fraction = bits & 0x3ffU;
  if (exponent == 0) {
    // Zero and subnormals: fraction * 2^-24 is exact in float.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  if (exponent == 0x1fU) {
    return std::bit_cast<float>(sign | 0x7f800000U | (fraction << 13U));
  }
  return std::bit_cast<float>(sign | ((exponent + 112U) << 23U) | (fraction << 13U));
}

std::uint16_t half_from_float(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16U) & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  if (magnitude > 0x7f800000U) {
    return static_cast<std::uint16_t>(sign | 0x7e00U | ((magnitude >> 13U) & 0x3ffU));
  }
  if (magnitude >= 0x477ff000U) {  // rounds to 65536 or more
    return static_cast<std::uint16_t>(sign | 0x7c00U);
  }
  if (magnitude < 0x38800000U) {
    // Below 2^-14: adding 0.5 leaves the value in units of 2^-24, rounded to nearest even.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000U));
  }
  const std::uint32_t tie_to_even = (magnitude >> 13U) & 1U;
  const std::uint32_t rounded = magnitude + 0xfffU + tie_to_even;
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000U) >> 13U));
}

}  // namespace tunebench::model
