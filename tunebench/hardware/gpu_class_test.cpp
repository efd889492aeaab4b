#include "tunebench/hardware/gpu_class.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::hardware {
namespace {

std::vector<GpuClass> classes_of(const char* settings, const char* visible) {
  setenv("TB_FAKE_NVML", settings, 1);
  std::string reason;
  const auto monitor = GpuMonitor::open(TB_FAKE_NVML_PATH, reason);
  EXPECT_NE(monitor, nullptr) << reason;
  return gpu_classes(*monitor, visible);
}

TEST(GpuClassTest, NamesModelMemoryCountLinkAndMajorVersions) {
  const std::vector<GpuClass> classes = classes_of("devices=2 nvlinks=18", nullptr);
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].hardware_class, "gpu:Fake H200:0 GiB:1");
  EXPECT_EQ(classes[1].hardware_class, "gpu:Fake H200:0 GiB:2:NV18");
  EXPECT_EQ(classes[1].driver, "570");
  EXPECT_EQ(classes[1].cuda, "12");
  EXPECT_EQ(classes[1].mig, "");
}

TEST(GpuClassTest, AnotherLinkIsAnotherClass) {
  EXPECT_EQ(classes_of("devices=2", nullptr)[1].hardware_class, "gpu:Fake H200:0 GiB:2:SYS");
}

TEST(GpuClassTest, FollowsCudaVisibleDevices) {
  EXPECT_EQ(classes_of("devices=2", "1").size(), 1U);
  EXPECT_TRUE(classes_of("devices=2", "").empty());
  EXPECT_THROW(classes_of("devices=2", "7"), Error);
}

TEST(GpuClassTest, NamesTheProfileOfASlice) {
  const char* slice = "MIG-11111111-2222-3333-4444-555555555555";
  EXPECT_EQ(classes_of("devices=2 mig_mode=1", slice).at(0).mig, "1g.18gb");
  EXPECT_EQ(classes_of("devices=2 mig_mode=1", "0").at(0).mig, "on");
}

TEST(GpuClassTest, MajorVersionIsWhatStandsBeforeThePoint) {
  EXPECT_EQ(major_version("570.86.15"), "570");
  EXPECT_EQ(major_version("13"), "13");
  EXPECT_EQ(major_version(""), "");
}

}  // namespace
}  // namespace tunebench::hardware
