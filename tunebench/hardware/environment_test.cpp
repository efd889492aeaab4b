#include "tunebench/hardware/environment.h"

#include <cstdlib>

#include <gtest/gtest.h>

#include "tunebench/base/files.h"

namespace tunebench::hardware {
namespace {

TEST(EnvironmentTest, DescribesTheTopology) {
  const TemporaryFolder root;
  const auto file = [&](const std::string& path, const std::string& text) {
    write_file_atomically(root.path() / path, text);
  };
  for (int cpu = 0; cpu < 8; ++cpu) {
    const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
    file(folder + "physical_package_id", std::to_string(cpu / 4) + "\n");
    file(folder + "core_id", std::to_string(cpu % 2) + "\n");
  }
  file("sys/devices/system/cpu/cpufreq/x", "");
  file("sys/devices/system/node/node0/cpulist", "0-3");
  file("sys/devices/system/node/node1/cpulist", "4-7");
  const Json environment = machine_environment(nullptr, root.path());
  EXPECT_EQ(environment.at("sockets").as_int(), 2);
  EXPECT_EQ(environment.at("cores_physical").as_int(), 4);
  EXPECT_EQ(environment.at("numa_nodes").as_int(), 2);
  EXPECT_EQ(environment.at("os").as_string(), "unknown");
}

TEST(EnvironmentTest, WhatIsNotToldIsNull) {
  const TemporaryFolder root;
  const Json environment = machine_environment(nullptr, root.path());
  for (const char* name : {"sockets", "numa_nodes", "cpu_governor", "driver", "cuda"}) {
    EXPECT_TRUE(environment.at(name).is_null()) << name;
  }
  EXPECT_TRUE(environment.at("gpus").as_array().empty());
  EXPECT_TRUE(environment.at("gpu_links").as_object().empty());
}

TEST(EnvironmentTest, DescribesTheGpus) {
  setenv("TB_FAKE_NVML", "devices=2 mig_mode=1", 1);
  std::string reason;
  const auto monitor = GpuMonitor::open(TB_FAKE_NVML_PATH, reason);
  ASSERT_NE(monitor, nullptr) << reason;
  const Json environment = machine_environment(monitor.get());
  EXPECT_EQ(environment.at("driver").as_string(), "570.86.15");
  EXPECT_EQ(environment.at("cuda").as_string(), "12.8");
  const Json& gpu = environment.at("gpus").as_array().at(1);
  EXPECT_EQ(gpu.at("uuid").as_string(), "GPU-af7b61d8-0000-4000-8000-000000000001");
  EXPECT_EQ(gpu.at("power_limit_w").as_double(), 700.0);
  EXPECT_TRUE(gpu.at("mig").as_bool());
  EXPECT_TRUE(gpu.at("vbios").is_null());
  EXPECT_EQ(gpu.at("pci_bus_id").as_string(), "00000000:19:00.0");
  EXPECT_EQ(gpu.at("pcie_generation").as_int(), 5);
  EXPECT_EQ(gpu.at("pcie_lanes").as_int(), 16);
  EXPECT_EQ(environment.at("gpu_links").at("0-1").as_string(), "SYS");
}

TEST(EnvironmentTest, TakesVariablesFromTheListOnlyAndMasksThem) {
  setenv("OMP_NUM_THREADS", "3", 1);
  setenv("NCCL_SOCKET_IFNAME", "eth0", 1);
  setenv("NCCL_FOO", "https://user:planted@host", 1);
  setenv("HF_TOKEN", "planted", 1);
  setenv("MY_OMP_NUM_THREADS", "9", 1);
  const std::string text = allowed_variables().dump();
  EXPECT_EQ(allowed_variables().at("OMP_NUM_THREADS").as_string(), "3");
  EXPECT_EQ(allowed_variables().at("NCCL_SOCKET_IFNAME").as_string(), "eth0");
  EXPECT_EQ(text.find("planted"), std::string::npos) << text;
  EXPECT_EQ(text.find("HF_TOKEN"), std::string::npos) << text;
  EXPECT_EQ(text.find("MY_OMP"), std::string::npos) << text;
  for (const char* name :
       {"OMP_NUM_THREADS", "NCCL_SOCKET_IFNAME", "NCCL_FOO", "HF_TOKEN", "MY_OMP_NUM_THREADS"}) {
    unsetenv(name);
  }
}

}  // namespace
}  // namespace tunebench::hardware
