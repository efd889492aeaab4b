#include "tunebench/base/random.h"

#include <cmath>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench {
namespace {

using testing::ElementsAre;

// Known answers of the paper's own library: github.com/DEShawResearch/random123,
// tests/kat_vectors, philox4x32 with 10 rounds. Counter words 0, 1 are the index, 2, 3 the stream.
TEST(RandomTest, PhiloxGivesThePublishedAnswers) {
  EXPECT_THAT(philox(0, 0, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  EXPECT_THAT(philox(kOnes, kOnes, kOnes),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(philox(0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

TEST(RandomTest, UniformHasMeanAndSpreadOfTheUnitInterval) {
  constexpr int kCount = 100'000;
  double sum = 0;
  double squares = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double value = uniform(7, 1, i);
    ASSERT_GE(value, 0.0);
    ASSERT_LT(value, 1.0);
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kCount;
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(squares / kCount - mean * mean, 1.0 / 12, 0.002);
}

TEST(RandomTest, NormalHasTheMomentsOfTheNormalDistribution) {
  constexpr int kCount = 100'000;
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const double value = normal(7, 2, i);
    ASSERT_TRUE(std::isfinite(value));
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
  }
  EXPECT_NEAR(sum / kCount, 0.0, 0.02);
  EXPECT_NEAR(squares / kCount, 1.0, 0.02);
  EXPECT_NEAR(fourth / kCount, 3.0, 0.15);
}

TEST(RandomTest, UniformIntReachesEveryValueBelowTheBound) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    seen.insert(uniform_int(3, 0, i, 10));
  }
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_EQ(*seen.rbegin(), 9U);
  EXPECT_EQ(uniform_int(3, 0, 5, 1), 0U);
  EXPECT_THROW(static_cast<void>(uniform_int(3, 0, 5, 0)), Error);
}

TEST(RandomTest, SeedStreamAndIndexEachChangeTheValue) {
  EXPECT_EQ(uniform(1, 2, 3), uniform(1, 2, 3));
  EXPECT_NE(uniform(1, 2, 3), uniform(2, 2, 3));
  EXPECT_NE(uniform(1, 2, 3), uniform(1, 3, 3));
  EXPECT_NE(uniform(1, 2, 3), uniform(1, 2, 4));
}

}  // namespace
}  // namespace tunebench
