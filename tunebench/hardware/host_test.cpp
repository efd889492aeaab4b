#include "tunebench/hardware/host.h"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/thread_pool.h"

namespace tunebench::hardware {
namespace {

/// A folder with the system files of another machine.
class HostTest : public testing::Test {
 protected:
  void file(const std::string& path, const std::string& text) {
    write_file_atomically(root() / path, text);
  }
  [[nodiscard]] const std::filesystem::path& root() const { return folder_.path(); }

  void make_server() {
    file("proc/cpuinfo",
         "processor\t: 0\nmodel name\t: Some  CPU @ 2.00GHz\nflags\t\t: fpu avx2 fma avx512f "
         "avx512dq avx512bw avx512vl\n\nprocessor\t: 1\nmodel name\t: Some  CPU @ 2.00GHz\n");
    file("proc/meminfo",
         "MemTotal:       16000000 kB\nMemFree:         1000 kB\nMemAvailable:   12000000 kB\n");
    file("proc/sys/kernel/hostname", "box\n");
    file("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    file("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
    file("proc/self/cgroup", "0::/\n");
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(HostTest, ReadsWhatTheMachineIs) {
  make_server();
  const HostInfo host = read_host(root());
  EXPECT_EQ(host.hostname, "box");
  EXPECT_EQ(host.os, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(host.kernel, "6.1.0-18-amd64");
  EXPECT_EQ(host.cpu_model, "Some CPU @ 2.00GHz");
  EXPECT_EQ(host.cores_total, 2);
  EXPECT_EQ(host.cores_usable, usable_cores());
  EXPECT_TRUE(host.avx2);
  EXPECT_TRUE(host.avx512);
  EXPECT_EQ(host.memory_total_bytes, 16000000LL * 1024);
  EXPECT_EQ(host.memory_usable_bytes, 12000000LL * 1024);
  EXPECT_EQ(host.memory_limit_bytes, 0);
  EXPECT_TRUE(host.gpu_models.empty());
}

TEST_F(HostTest, NeedsAllPartsOfAnInstructionSet) {
  file("proc/cpuinfo", "processor : 0\nflags : avx2 avx512f avx512bw avx512dq\n");
  const HostInfo host = read_host(root());
  EXPECT_FALSE(host.avx2) << "without FMA";
  EXPECT_FALSE(host.avx512) << "without VL";
}

TEST_F(HostTest, SaysUnknownOnAMachineThatTellsNothing) {
  const HostInfo host = read_host(root());
  EXPECT_EQ(host.hostname, "unknown");
  EXPECT_EQ(host.os, "unknown");
  EXPECT_EQ(host.memory_total_bytes, 0);
  EXPECT_FALSE(host.cpu_model.empty());
  EXPECT_EQ(load_average(root()), std::nullopt);
}

TEST_F(HostTest, TakesTheSmallestLimitAboveItInVersionTwo) {
  make_server();
  file("proc/self/cgroup", "0::/slice/job\n");
  file("sys/fs/cgroup/slice/memory.max", "4000000000\n");
  file("sys/fs/cgroup/slice/memory.current", "1000000000\n");
  file("sys/fs/cgroup/slice/memory.stat", "anon 5\ninactive_file 200000000\n");
  file("sys/fs/cgroup/slice/job/memory.max", "max\n");
  const HostInfo host = read_host(root());
  EXPECT_EQ(host.memory_limit_bytes, 4000000000);
  EXPECT_EQ(host.memory_usable_bytes, 3200000000) << "cache that can be dropped is free";
}

TEST_F(HostTest, TakesTheContainersOwnLimitWhenItsGroupIsNotVisible) {
  make_server();
  file("proc/self/cgroup", "0::/../outside\n");
  file("sys/fs/cgroup/memory.max", "2000000000\n");
  EXPECT_EQ(read_host(root()).memory_limit_bytes, 2000000000);
}

TEST_F(HostTest, ReadsLimitsOfVersionOne) {
  make_server();
  file("proc/self/cgroup", "5:devices:/\n4:cpu,memory:/docker/abc\n0::/\n");
  file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  file("sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "3000000000\n");
  file("sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "500000000\n");
  file("sys/fs/cgroup/memory/docker/abc/memory.stat", "total_inactive_file 100000000\n");
  const HostInfo host = read_host(root());
  EXPECT_EQ(host.memory_limit_bytes, 3000000000);
  EXPECT_EQ(host.memory_usable_bytes, 2600000000);
}

TEST_F(HostTest, GroupThatUsesMoreThanItsLimitLeavesNothing) {
  make_server();
  file("sys/fs/cgroup/memory.max", "100\n");
  file("sys/fs/cgroup/memory.current", "200\n");
  EXPECT_EQ(read_host(root()).memory_usable_bytes, 0);
}

TEST_F(HostTest, ReadsTheLoadOfTheLastMinute) {
  file("proc/loadavg", "1.25 0.58 0.41 2/93 10644\n");
  EXPECT_EQ(load_average(root()), 1.25);
}

TEST_F(HostTest, ReadsItsOwnPeak) {
  file("proc/self/status", "Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t 1024 kB\n");
  EXPECT_EQ(peak_resident_bytes(root()), 2048 * 1024);
}

TEST(HostClassTest, IsModelAndUsableCores) {
  HostInfo host;
  host.cpu_model = "Some CPU @ 2.00GHz";
  host.cores_usable = 2;
  EXPECT_EQ(hardware_class(host), "cpu:Some CPU @ 2.00GHz:2c");
  host.gpu_models = {"NVIDIA H200", "NVIDIA H200"};
  EXPECT_EQ(hardware_class(host), "cpu:Some CPU @ 2.00GHz:2c") << "the point uses no GPU";
  EXPECT_EQ(hardware_class(host, 2), "gpu:NVIDIA H200:2");
}

TEST(HostClassTest, RefusesMoreGpusThanThereAre) {
  try {
    hardware_class(HostInfo{}, 2);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "number_gpus is 2 but this machine has 0 GPUs");
  }
}

TEST(ThisHostTest, KnowsItself) {
  const HostInfo host = read_host();
  EXPECT_GE(host.cores_usable, 1);
  EXPECT_GE(host.cores_total, host.cores_usable);
  EXPECT_GT(host.memory_usable_bytes, 0);
  EXPECT_LE(host.memory_usable_bytes, host.memory_total_bytes);
  EXPECT_NE(host.hostname, "unknown");
}

TEST(ThisHostTest, PeakGrowsWithMemoryThatIsTouched) {
  constexpr std::size_t kBytes = 64U << 20U;
  const std::int64_t before = peak_resident_bytes();
  const std::string touched(kBytes, 'x');
  EXPECT_GT(touched[kBytes / 2], 0);
  EXPECT_GE(peak_resident_bytes(), std::max(before, static_cast<std::int64_t>(kBytes)));
}

TEST(HostJsonTest, HoldsEveryMemberUnderItsName) {
  HostInfo host;
  host.hostname = "box";
  host.avx2 = true;
  host.gpu_models = {"NVIDIA H200"};
  const Json json = host_json(host);
  EXPECT_EQ(json.at("hostname").as_string(), "box");
  EXPECT_TRUE(json.at("avx2").as_bool());
  EXPECT_EQ(json.at("gpu_models").as_array().size(), 1U);
}

}  // namespace
}  // namespace tunebench::hardware
