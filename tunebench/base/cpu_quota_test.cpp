#include "tunebench/base/internal/cpu_quota.h"

#include <gtest/gtest.h>

#include "tunebench/base/files.h"

namespace tunebench {
namespace {

class CpuQuotaTest : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& text) {
    write_file_atomically(mount_.path() / name, text);
  }
  std::optional<double> quota(const std::string& membership) {
    return cpu_quota(mount_.path(), membership);
  }

 private:
  TemporaryFolder mount_;
};

TEST_F(CpuQuotaTest, ReadsTheQuotaOfTheGroup) {
  put("a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota("0::/a/b\n"), 1.5);
}

TEST_F(CpuQuotaTest, TakesTheLeastOfAllGroupsAbove) {
  put("cpu.max", "800000 100000\n");
  put("a/cpu.max", "200000 100000\n");
  put("a/b/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota("0::/a/b\n"), 2.0);
}

TEST_F(CpuQuotaTest, ReadsTheContainersOwnGroupWhenTheNamedOneIsNotSeen) {
  put("cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("0::/docker/4711\n"), 0.5);
  EXPECT_EQ(quota("0::/../other\n"), 0.5);
}

TEST_F(CpuQuotaTest, KnowsTheOlderFiles) {
  put("cpu,cpuacct/a/cpu.cfs_quota_us", "300000\n");
  put("cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("5:memory:/a\n4:cpu,cpuacct:/a\n"), 3.0);
}

TEST_F(CpuQuotaTest, FindsNoLimitWhereNoneIsSet) {
  EXPECT_EQ(quota("0::/a\n"), std::nullopt);
  put("a/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/a\n"), std::nullopt);
  put("cpu/cpu.cfs_quota_us", "-1\n");
  put("cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota("4:cpu:/\n"), std::nullopt);
}

TEST_F(CpuQuotaTest, SkipsWhatItCannotRead) {
  put("a/cpu.max", "fast 100000\n");
  EXPECT_EQ(quota("0::/a\nnonsense\n"), std::nullopt);
  put("a/cpu.max", "100000 0\n");
  EXPECT_EQ(quota("0::/a\n"), std::nullopt);
}

}  // namespace
}  // namespace tunebench
