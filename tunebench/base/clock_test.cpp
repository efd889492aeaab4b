#include "tunebench/base/clock.h"

#include <ctime>

#include <gtest/gtest.h>

namespace tunebench {
namespace {

TEST(ClockTest, IsTheMonotonicClock) {
  timespec before{};
  clock_gettime(CLOCK_MONOTONIC, &before);
  const std::chrono::nanoseconds now = system_clock().now();
  EXPECT_GE(now, std::chrono::seconds(before.tv_sec) + std::chrono::nanoseconds(before.tv_nsec));
}

TEST(ClockTest, SleepsAtLeastAsLongAsAsked) {
  const std::chrono::nanoseconds start = system_clock().now();
  system_clock().sleep_for(std::chrono::milliseconds(2));
  EXPECT_GE(system_clock().now() - start, std::chrono::milliseconds(2));
}

TEST(ClockTest, WritesTimesAsIso8601) {
  EXPECT_EQ(iso_time(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(iso_time(1796113800), "2026-12-01T08:30:00Z");
  EXPECT_EQ(iso_time(951827696), "2000-02-29T12:34:56Z");
  EXPECT_EQ(iso_time(-1), "1969-12-31T23:59:59Z");
}

TEST(ClockTest, ReadsWhatItWrote) {
  for (const std::int64_t time : {std::int64_t{0}, std::int64_t{1796113800}, std::int64_t{-1}}) {
    EXPECT_EQ(parse_iso_time(iso_time(time)), time);
  }
  for (const char* text :
       {"", "2026-12-01", "2026-13-01T08:30:00Z", "2026-02-30T08:30:00Z", "2026-12-01T24:00:00Z",
        "2026-12-01 08:30:00Z", "2026-12-01T08:3x:00Z"}) {
    EXPECT_FALSE(parse_iso_time(text)) << text;
  }
}

}  // namespace
}  // namespace tunebench
