#include "tunebench/hardware/gpu_monitor.h"

#include <array>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::hardware {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::unique_ptr<GpuMonitor> open_fake(const char* settings, std::string& reason,
                                      const char* library = TB_FAKE_NVML_PATH) {
  setenv("TB_FAKE_NVML", settings, 1);
  return GpuMonitor::open(library, reason);
}

std::unique_ptr<GpuMonitor> open_fake(const char* settings) {
  std::string reason;
  auto monitor = open_fake(settings, reason);
  EXPECT_NE(monitor, nullptr) << reason;
  return monitor;
}

TEST(GpuMonitorTest, IdentifiesEachDevice) {
  const auto monitor = open_fake("devices=2 mig_mode=1");
  ASSERT_EQ(monitor->devices().size(), 2U);
  const GpuIdentity& second = monitor->devices()[1];
  EXPECT_EQ(second.index, 1);
  EXPECT_EQ(second.uuid, "GPU-af7b61d8-0000-4000-8000-000000000001");
  EXPECT_EQ(second.name, "Fake H200");
  EXPECT_EQ(second.memory_bytes, 1000);
  EXPECT_EQ(second.power_limit_w, 700.0);
  EXPECT_EQ(second.mig, true);
  EXPECT_EQ(second.ecc, true);
  EXPECT_FALSE(second.vbios.has_value());
  EXPECT_EQ(monitor->driver_version(), "570.86.15");
  EXPECT_EQ(monitor->cuda_version(), "12.8");
}

TEST(GpuMonitorTest, TellsHowTwoDevicesAreLinked) {
  EXPECT_EQ(open_fake("nvlinks=18 ancestor=50")->link(0, 1), "NV18");
  EXPECT_EQ(open_fake("nvlinks=4 ancestor=10")->link(1, 0), "NV4");
  EXPECT_EQ(open_fake("ancestor=10")->link(0, 1), "PIX");
  EXPECT_EQ(open_fake("ancestor=20")->link(0, 1), "PXB");
  EXPECT_EQ(open_fake("ancestor=30")->link(0, 1), "PHB");
  EXPECT_EQ(open_fake("ancestor=40")->link(0, 1), "NODE");
  EXPECT_EQ(open_fake("ancestor=50")->link(0, 1), "SYS");
  EXPECT_EQ(open_fake("topology=3")->link(0, 1), std::nullopt);
  std::string reason;
  EXPECT_EQ(open_fake("", reason, TB_FAKE_NVML_OLD_PATH)->link(0, 1), std::nullopt);
}

TEST(GpuMonitorTest, ReadsEverythingOfADevice) {
  const auto monitor = open_fake("throttle=0x24");
  const GpuReading reading = monitor->read(1);
  EXPECT_EQ(reading.utilization_percent, 70.0);
  EXPECT_EQ(reading.memory_used_bytes, 600);
  EXPECT_EQ(reading.memory_used_percent, 60.0);
  EXPECT_EQ(reading.power_w, 350.0);
  EXPECT_EQ(reading.temperature_c, 55.0);
  EXPECT_EQ(reading.sm_clock_mhz, 1980.0);
  EXPECT_EQ(reading.memory_clock_mhz, 3201.0);
  EXPECT_EQ(reading.throttle_reasons, 0x24U);
  EXPECT_TRUE(reading.energy_j.has_value());
  EXPECT_THAT(reading.missing, IsEmpty());
}

TEST(GpuMonitorTest, AReadingThatIsNotSupportedLeavesTheOthers) {
  const auto monitor = open_fake("power=3");
  const GpuReading reading = monitor->read(0);
  EXPECT_FALSE(reading.power_w.has_value());
  EXPECT_EQ(reading.utilization_percent, 10.0);
  EXPECT_EQ(reading.memory_used_bytes, 300);
  EXPECT_THAT(reading.missing, ElementsAre("power: not supported"));
}

TEST(GpuMonitorTest, ALibraryWithoutNewerFunctionsStillReadsTheRest) {
  std::string reason;
  const auto monitor = open_fake("", reason, TB_FAKE_NVML_OLD_PATH);
  ASSERT_NE(monitor, nullptr) << reason;
  EXPECT_EQ(monitor->cuda_version(), "");
  const GpuReading reading = monitor->read(1);
  EXPECT_EQ(reading.utilization_percent, 70.0);
  EXPECT_FALSE(reading.energy_j.has_value());
  EXPECT_THAT(reading.missing, Contains("energy: not supported"));
  EXPECT_THAT(monitor->processes(0), IsEmpty());
}

TEST(GpuMonitorTest, ADeviceThatFallsOffTheBusIsMarkedLost) {
  const auto monitor = open_fake("lost_after=100000");
  EXPECT_FALSE(monitor->read(1).lost);
  setenv("TB_FAKE_NVML", "lost_after=0", 1);
  const GpuReading reading = monitor->read(1);
  EXPECT_TRUE(reading.lost);
  EXPECT_THAT(reading.missing, Contains("power: gpu is lost"));
  EXPECT_FALSE(monitor->read(0).lost);
}

TEST(GpuMonitorTest, TellsWhyThereIsNoDriver) {
  std::string reason;
  EXPECT_EQ(open_fake("init=9", reason), nullptr);
  EXPECT_EQ(reason, "no NVIDIA driver found (NVML: driver not loaded)");
  EXPECT_EQ(open_fake("init=12", reason), nullptr);
  EXPECT_THAT(reason, HasSubstr("no NVIDIA driver found"));
  EXPECT_EQ(open_fake("", reason, "/nonexistent/libnvidia-ml.so.1"), nullptr);
  EXPECT_THAT(reason, HasSubstr("no NVIDIA driver found"));
}

TEST(GpuMonitorTest, ListsProcessesOnADevice) {
  const auto monitor = open_fake("processes=4242");
  const auto processes = monitor->processes(0);
  ASSERT_EQ(processes.size(), 1U);
  EXPECT_EQ(processes[0].pid, 4242);
  EXPECT_EQ(processes[0].memory_bytes, 256);
}

TEST(GpuMonitorTest, ResolvesVisibleDevicesByNumberUuidPrefixAndSlice) {
  const auto monitor = open_fake("");
  EXPECT_THAT(monitor->resolve_visible(""), IsEmpty());
  EXPECT_THAT(monitor->resolve_visible("1,0"), ElementsAre(1, 0));
  EXPECT_THAT(monitor->resolve_visible("GPU-af7b61d8"), ElementsAre(1));
  EXPECT_THAT(monitor->resolve_visible("GPU-52a3a85d-0000-4000-8000-000000000000"), ElementsAre(0));
  EXPECT_THAT(monitor->resolve_visible("MIG-11111111-2222-3333-4444-555555555555"), ElementsAre(1));
}

TEST(GpuMonitorTest, RefusesAnUnknownVisibleDeviceByName) {
  const auto monitor = open_fake("");
  for (const char* visible : {"GPU-deadbeef", "2", "-1", "MIG-unknown", "GPU-"}) {
    try {
      static_cast<void>(monitor->resolve_visible(visible));
      FAIL() << visible << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
      EXPECT_THAT(error.message(), HasSubstr(visible));
    }
  }
}

TEST(GpuMonitorTest, FormatsAUuidWithAZeroByteInside) {
  constexpr std::array<std::uint8_t, 16> kBytes{0x13, 0x09, 0x61, 0x39, 0x7a, 0xda, 0x83, 0x13,
                                                0xee, 0x08, 0x00, 0x0d, 0xd8, 0x54, 0x0f, 0xe1};
  EXPECT_EQ(format_gpu_uuid(kBytes), "GPU-13096139-7ada-8313-ee08-000dd8540fe1");
}

TEST(GpuMonitorTest, NamesOnlyReasonsThatSlowDown) {
  EXPECT_EQ(throttle_text(0x1 | 0x2), "");
  EXPECT_EQ(throttle_text(0x4 | 0x40), "power cap, hardware thermal slowdown");
}

}  // namespace
}  // namespace tunebench::hardware
