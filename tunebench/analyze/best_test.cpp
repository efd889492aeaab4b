#include "tunebench/analyze/best.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::analyze {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Best, NamesTheBestAndHowFarTheNextIs) {
  const std::vector<Figure> rates{{62110}, {71480}, {63940}};
  const std::optional<Best> best = best_of(rates, true);
  ASSERT_TRUE(best);
  EXPECT_EQ(best->best, 1U);
  EXPECT_EQ(best->next, 2U);
  EXPECT_NEAR(*best->next_change, -0.105, 5e-4);
  EXPECT_THAT(best->tied, IsEmpty());
  EXPECT_EQ(best_of(rates, false)->best, 0U);
}

TEST(Best, BelowOnePercentIsATie) {
  EXPECT_THAT(best_of(std::vector<Figure>{{100}, {99.1}, {99}}, true)->tied, ElementsAre(1U));
}

TEST(Best, OverlappingIntervalsAreATie) {
  EXPECT_THAT(best_of(std::vector<Figure>{{100, 3}, {95, 2}, {90, 1}}, true)->tied,
              ElementsAre(1U));
}

TEST(Best, OnePointHasNoNextAndNoneIsNone) {
  const std::optional<Best> best = best_of(std::vector<Figure>{{5}}, true);
  EXPECT_FALSE(best->next);
  EXPECT_FALSE(best_of({}, true));
  EXPECT_FALSE(best_of(std::vector<Figure>{{0}, {1}}, false)->next_change);
}

}  // namespace
}  // namespace tunebench::analyze
