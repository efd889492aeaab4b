#include "tunebench/trainer/process_memory.h"

#include <string>

#include <gtest/gtest.h>

namespace tunebench::trainer {
namespace {

TEST(ProcessMemoryTest, ReadsThePeakOfAStatusFile) {
  EXPECT_EQ(peak_resident_bytes("Name:\tx\nVmPeak:\t  900 kB\nVmHWM:\t  1234 kB\nVmRSS:\t 1 kB\n"),
            1234 * 1024);
}

TEST(ProcessMemoryTest, GivesZeroWhereTheFileDoesNotTell) {
  EXPECT_EQ(peak_resident_bytes("Name:\tx\n"), 0);
  EXPECT_EQ(peak_resident_bytes("VmHWM:\t12 pages\n"), 0);
}

TEST(ProcessMemoryTest, GrowsWithWhatThisProcessTouches) {
  const std::int64_t before = peak_resident_bytes();
  EXPECT_GT(before, 0);
  const std::string touched(std::size_t{128} << 20, 'x');
  EXPECT_EQ(touched.back(), 'x');
  EXPECT_GE(peak_resident_bytes(), std::int64_t{128} << 20);
}

}  // namespace
}  // namespace tunebench::trainer
