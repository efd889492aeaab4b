// The vectors are those of the project's specification, section 3.6.
#include "tunebench/stats/cost.h"

#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::stats {
namespace {

TEST(Cost, OfAMillionTokens) {
  EXPECT_NEAR(cost_per_million_tokens(2.50, 2, 11'300), 0.12291, 5e-6);
  EXPECT_NEAR(cost_per_million_tokens(0.36, 1, 100), 1.0, 1e-12);
  EXPECT_THROW(cost_per_million_tokens(1, 1, 0), Error);
  EXPECT_THROW(cost_per_million_tokens(1, 0, 1), Error);
}

TEST(Energy, OfAToken) {
  const double joules = joules_per_token(2 * 600.0 * 10.0, 11'300 * 10.0);
  EXPECT_NEAR(joules, 0.10619, 5e-6);
  EXPECT_NEAR(kwh_per_million_tokens(joules), 0.029499, 1e-6);
  EXPECT_THROW(joules_per_token(1, 0), Error);
}

}  // namespace
}  // namespace tunebench::stats
