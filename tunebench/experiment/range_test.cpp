#include "tunebench/experiment/range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::experiment {
namespace {

using testing::ElementsAre;

Members below(const char* from, const char* to, const char* step) {
  return stepped_members(*parse_decimal(from), *parse_decimal(to), *parse_decimal(step), false);
}

TEST(SteppedMembers, VectorsOfTheReferenceSystem) {
  EXPECT_THAT(below("1", "9", "2").values, ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(below("1", "10", "3").values, ElementsAre(1, 4, 7));
  EXPECT_THAT(below("5", "12", "2").values, ElementsAre(5, 7, 9, 11));
  EXPECT_THAT(below("0.1", "0.4", "0.1").values, ElementsAre(0.1, 0.2, 0.3));
  EXPECT_THAT(below("0", "1", "0.25").values, ElementsAre(0, 0.25, 0.5, 0.75));
  EXPECT_THAT(below("20", "30", "2.5").values, ElementsAre(20, 22.5, 25, 27.5));
  EXPECT_THAT(below("1.0", "2.0", "0.3").values, ElementsAre(1, 1.3, 1.6, 1.9));
}

TEST(SteppedMembers, TheUpperEndDoesNotLeakThroughRounding) {
  EXPECT_THAT(below("0", "0.9", "0.3").values, ElementsAre(0, 0.3, 0.6));
  EXPECT_EQ(below("0", "1.7", "0.1").values.size(), 17U);
  EXPECT_THAT(below("0", "2.1", "0.7").values, ElementsAre(0, 0.7, 1.4));
  // The scan in which the reference system leaks 384 times.
  for (const char* step : {"0.05", "0.1", "0.15", "0.2", "0.3", "0.6", "0.7"}) {
    for (int low = 0; low < 30; ++low) {
      for (int high = low + 1; high < 60; ++high) {
        const Decimal from{low, -1};
        const Decimal to{high, -1};
        const Decimal by = *parse_decimal(step);
        // In hundredths all of it is whole.
        const int hundredths = static_cast<int>(*multiply(by, 100)->whole());
        const int count = ((high - low) * 10 + hundredths - 1) / hundredths;
        const Members members = stepped_members(from, to, by, false);
        ASSERT_EQ(members.values.size(), static_cast<std::size_t>(count))
            << low << " " << high << " " << step;
        ASSERT_LT(members.values.back().as_double(), to.value());
      }
    }
  }
}

TEST(SteppedMembers, RefusesWhatHasNoEnd) {
  EXPECT_EQ(below("0", "1", "0").problem, "needs a step above 0");
  EXPECT_EQ(below("2", "1", "1").problem, "runs backwards");
  EXPECT_EQ(below("0", "1e12", "1").problem, "is 1000000000000 values, more than 1000000");
  EXPECT_EQ(below("1e-300", "1", "0.5").problem, "needs more digits than 18");
  EXPECT_TRUE(below("1", "1", "1").values.empty());
}

TEST(FactorMembers, GrowExactly) {
  const auto members = [](const char* from, const char* to, const char* factor) {
    return factor_members(*parse_decimal(from), *parse_decimal(to), *parse_decimal(factor));
  };
  EXPECT_THAT(members("1e-6", "1e-3", "10").values, ElementsAre(1e-6, 1e-5, 1e-4, 1e-3));
  EXPECT_THAT(members("1", "128", "2").values, ElementsAre(1, 2, 4, 8, 16, 32, 64, 128));
  EXPECT_THAT(members("1", "100", "2.5").values,
              ElementsAre(1, 2.5, 6.25, 15.625, 39.0625, 97.65625));
  EXPECT_EQ(members("0", "1", "10").problem, "must begin above 0 to grow by a factor");
  EXPECT_EQ(members("1", "8", "1").problem, "needs a factor above 1");
  EXPECT_EQ(members("8", "1", "2").problem, "runs backwards");
  EXPECT_EQ(members("1", "1e300", "1.0000001").problem.substr(0, 3), "is ");
  EXPECT_EQ(members("1.234567", "2000", "1.234567").values.size(), 36U) << "beyond 18 digits";
}

TEST(LogMembers, SpreadEvenlyByFactor) {
  const auto members = [](const char* from, const char* to, std::int64_t count, bool whole) {
    return log_members(*parse_decimal(from), *parse_decimal(to), count, whole);
  };
  EXPECT_THAT(members("1e-6", "1e-3", 4, false).values, ElementsAre(1e-6, 1e-5, 1e-4, 1e-3));
  EXPECT_THAT(members("1", "128", 8, true).values, ElementsAre(1, 2, 4, 8, 16, 32, 64, 128));
  EXPECT_THAT(members("1", "3", 9, true).values, ElementsAre(1, 2, 3));
  EXPECT_EQ(members("1", "2", 1, false).problem, "needs a count of at least 2");
  EXPECT_EQ(members("-1", "2", 3, false).problem, "must lie above 0 to be spread by factors");
  EXPECT_EQ(members("2", "1", 3, false).problem, "runs backwards");
}

}  // namespace
}  // namespace tunebench::experiment
