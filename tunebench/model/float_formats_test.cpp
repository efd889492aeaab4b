#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "tunebench/model/safetensors.h"

namespace tunebench::model {
namespace {

TEST(FloatFormatsTest, RoundsToBfloat16Evenly) {
  EXPECT_EQ(bfloat16_from_float(1.0F), 0x3f80);
  EXPECT_EQ(bfloat16_from_float(-2.5F), 0xc020);
  EXPECT_EQ(bfloat16_from_float(std::bit_cast<float>(0x3f808000U)), 0x3f80);  // tie, even below
  EXPECT_EQ(bfloat16_from_float(std::bit_cast<float>(0x3f818000U)), 0x3f82);  // tie, even above
  EXPECT_EQ(bfloat16_from_float(std::bit_cast<float>(0x3f808001U)), 0x3f81);
  EXPECT_EQ(bfloat16_from_float(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(bfloat16_from_float(std::numeric_limits<float>::infinity()), 0x7f80);
}

TEST(FloatFormatsTest, KeepsNotANumber) {
  EXPECT_TRUE(
      std::isnan(float_from_bfloat16(bfloat16_from_float(std::bit_cast<float>(0x7f800001U)))));
  EXPECT_TRUE(std::isnan(float_from_half(half_from_float(std::bit_cast<float>(0xff800001U)))));
}

TEST(FloatFormatsTest, ReadsHalves) {
  EXPECT_EQ(float_from_half(0x3c00), 1.0F);
  EXPECT_EQ(float_from_half(0xc500), -5.0F);
  EXPECT_EQ(float_from_half(0x7bff), 65504.0F);
  EXPECT_EQ(float_from_half(0x0001), 0x1p-24F);
  EXPECT_EQ(float_from_half(0x03ff), 1023 * 0x1p-24F);
  EXPECT_EQ(float_from_half(0x7c00), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::signbit(float_from_half(0x8000)));
}

TEST(FloatFormatsTest, RoundsToHalvesEvenly) {
  EXPECT_EQ(half_from_float(65519.0F), 0x7bff);
  EXPECT_EQ(half_from_float(65520.0F), 0x7c00);
  EXPECT_EQ(half_from_float(0x1p-25F), 0x0000);
  EXPECT_EQ(half_from_float(std::nextafter(0x1p-25F, 1.0F)), 0x0001);
  EXPECT_EQ(half_from_float(3 * 0x1p-25F), 0x0002);
  EXPECT_EQ(half_from_float(1.0F + 0x1p-11F), 0x3c00);
  EXPECT_EQ(half_from_float(1.0F + 3 * 0x1p-11F), 0x3c02);
  EXPECT_EQ(half_from_float(-0.0F), 0x8000);
}

TEST(FloatFormatsTest, EveryHalfAndBfloat16SurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    if (!std::isnan(float_from_half(pattern))) {
      EXPECT_EQ(half_from_float(float_from_half(pattern)), pattern);
    }
    if (!std::isnan(float_from_bfloat16(pattern))) {
      EXPECT_EQ(bfloat16_from_float(float_from_bfloat16(pattern)), pattern);
    }
  }
}

}  // namespace
}  // namespace tunebench::model
