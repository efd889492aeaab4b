#include "tunebench/report/age.h"

#include <gtest/gtest.h>

namespace tunebench::report {
namespace {

TEST(AgeText, NamesTheLargestUnit) {
  EXPECT_EQ(age_text(-5), "now");
  EXPECT_EQ(age_text(59), "now");
  EXPECT_EQ(age_text(60), "1 min ago");
  EXPECT_EQ(age_text(7300), "2 h ago");
  EXPECT_EQ(age_text(3 * 86400 + 5), "3 d ago");
}

}  // namespace
}  // namespace tunebench::report
