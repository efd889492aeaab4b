#include "tunebench/hardware/telemetry.h"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tunebench/base/clock.h"
#include "tunebench/base/files.h"

namespace tunebench::hardware {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;

void write(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// A process of a made-up /proc: 100 ticks of user time, 50 of system, 7 pages resident.
void make_process(const std::filesystem::path& proc, int pid, const std::string& children) {
  const auto folder = proc / std::to_string(pid);
  write(folder / "stat", std::to_string(pid) +
                             " (a (strange) name) S 1 1 1 0 -1 0 11 2 3 1 100 50 10 5 20 0 1 0 9 "
                             "1000 7 0 0 0");
  write(folder / "task" / std::to_string(pid) / "children", children);
}

TEST(ProcessTreeTest, SumsARootAndItsDescendants) {
  const TemporaryFolder proc;
  make_process(proc.path(), 10, "11 12 ");
  make_process(proc.path(), 11, "13");
  make_process(proc.path(), 12, "");
  make_process(proc.path(), 13, "");
  make_process(proc.path(), 99, "");
  EXPECT_THAT(process_tree(10, proc.path()), ElementsAre(10, 11, 12, 13));
  const TreeUsage usage = read_tree_usage(10, proc.path());
  const double ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  EXPECT_EQ(usage.processes, 4);
  EXPECT_DOUBLE_EQ(usage.cpu_s, 4 * 165 / ticks);
  EXPECT_EQ(usage.resident_bytes, 4 * 7 * sysconf(_SC_PAGESIZE));
  EXPECT_EQ(usage.minor_faults, 4 * 13);
  EXPECT_EQ(usage.major_faults, 4 * 4);
}

TEST(ProcessTreeTest, AProcessThatIsGoneHasNoTree) {
  const TemporaryFolder proc;
  EXPECT_TRUE(process_tree(10, proc.path()).empty());
  EXPECT_EQ(read_tree_usage(10, proc.path()).processes, 0);
}

TEST(CpuCountersTest, UndoesTheWrapAroundOfEnergyAndSkipsPartsOfAPackage) {
  const TemporaryFolder root;
  const auto rapl = root.path() / "sys/class/powercap";
  write(rapl / "intel-rapl:0/energy_uj", "9000000\n");
  write(rapl / "intel-rapl:0/max_energy_range_uj", "10000000\n");
  write(rapl / "intel-rapl:0:0/energy_uj", "5\n");
  write(root.path() / "proc/stat", "cpu  100 0 50 1000 7 0 50 0 0 0\n");
  write(root.path() / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "3000000\n");
  write(root.path() / "sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "2000000\n");
  write(root.path() / "sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "4\n");
  CpuCounterReader reader(root.path() / "proc", root.path() / "sys");
  const CpuCounters first = reader.read();
  EXPECT_EQ(first.package_energy_j, 0.0);
  EXPECT_DOUBLE_EQ(first.busy_s.value(), 200 / static_cast<double>(sysconf(_SC_CLK_TCK)));
  EXPECT_EQ(first.clock_mhz, 2500.0);
  EXPECT_EQ(first.throttle_events, 4);
  write(rapl / "intel-rapl:0/energy_uj", "1000000\n");
  EXPECT_DOUBLE_EQ(reader.read().package_energy_j.value(), 2.0);
}

TEST(CpuCountersTest, WhatTheSystemDoesNotTellIsAbsent) {
  const TemporaryFolder root;
  CpuCounterReader reader(root.path() / "proc", root.path() / "sys");
  const CpuCounters counters = reader.read();
  EXPECT_FALSE(counters.busy_s.has_value());
  EXPECT_FALSE(counters.package_energy_j.has_value());
  EXPECT_FALSE(counters.clock_mhz.has_value());
  EXPECT_FALSE(counters.throttle_events.has_value());
}

TelemetrySample sample_at(int second, double cpu_s, std::int64_t resident) {
  TelemetrySample sample;
  sample.time = seconds(second);
  sample.tree = {cpu_s, resident, second * 10, 0, 1};
  sample.machine.busy_s = cpu_s + second * 0.5;
  sample.machine.package_energy_j = second * 40.0;
  return sample;
}

TEST(TelemetrySummaryTest, InterpolatesCountersAtTheEndsOfTheWindow) {
  const std::vector<TelemetrySample> samples{sample_at(0, 0, 100), sample_at(2, 4, 300),
                                             sample_at(4, 8, 200)};
  const TelemetrySummary summary = summarize(samples, seconds(1), seconds(3), 2);
  EXPECT_DOUBLE_EQ(summary.seconds, 2);
  EXPECT_DOUBLE_EQ(summary.cpu_cores_used.value(), 2);
  EXPECT_DOUBLE_EQ(summary.cpu_percent_of_usable.value(), 100);
  EXPECT_DOUBLE_EQ(summary.other_cores_used.value(), 0.5);
  EXPECT_DOUBLE_EQ(summary.package_energy_j.value(), 80);
  EXPECT_EQ(summary.resident_peak_bytes, 300);
  EXPECT_EQ(summary.samples, 1);
  EXPECT_EQ(summary.minor_faults, 20);
}

TEST(TelemetrySummaryTest, NoSamplesGiveNoNumbers) {
  const TelemetrySummary summary = summarize({}, seconds(1), seconds(3), 2);
  EXPECT_FALSE(summary.cpu_percent_of_usable.has_value());
  EXPECT_FALSE(summary.package_energy_j.has_value());
  EXPECT_EQ(summary.samples, 0);
}

TelemetrySample gpu_sample(int second, GpuReading reading) {
  TelemetrySample sample = sample_at(second, second, 1);
  sample.gpus.push_back(std::move(reading));
  return sample;
}

TEST(TelemetrySummaryTest, SummarisesAGpuOverTheWindow) {
  std::vector<TelemetrySample> samples;
  for (int second = 0; second <= 4; ++second) {
    GpuReading reading;
    reading.utilization_percent = 10.0 * second;
    reading.power_w = 100.0 + 100.0 * second;
    reading.memory_used_bytes = 5 + second % 3;
    reading.energy_j = 1000.0 + 300.0 * second;
    reading.throttle_reasons = second == 2 ? 0x4U : 0x1U;
    samples.push_back(gpu_sample(second, reading));
  }
  const std::vector<GpuIdentity> identities{{.index = 0, .power_limit_w = 400.0}};
  const TelemetrySummary summary = summarize(samples, seconds(1), seconds(3), 2, identities);
  ASSERT_EQ(summary.gpus.size(), 1U);
  const GpuSummary& gpu = summary.gpus[0];
  EXPECT_DOUBLE_EQ(gpu.utilization_percent->min, 10);
  EXPECT_DOUBLE_EQ(gpu.utilization_percent->mean, 20);
  EXPECT_DOUBLE_EQ(gpu.utilization_percent->max, 30);
  EXPECT_DOUBLE_EQ(gpu.power_percent->mean, 75);
  EXPECT_DOUBLE_EQ(gpu.energy_j.value(), 600);
  EXPECT_FALSE(gpu.energy_integrated);
  EXPECT_EQ(gpu.memory_peak_bytes, 7);
  EXPECT_NEAR(gpu.throttled_share.value(), 1.0 / 3.0, 1e-12);
  EXPECT_EQ(gpu.throttle_reasons, 0x4U);
}

TEST(TelemetrySummaryTest, IntegratesPowerWhereThereIsNoEnergyCounterAndSaysSo) {
  std::vector<TelemetrySample> samples;
  for (int second = 0; second <= 4; second += 2) {
    GpuReading reading;
    reading.power_w = 100.0 * second;
    reading.missing = {"energy: not supported"};
    samples.push_back(gpu_sample(second, reading));
  }
  const GpuSummary gpu = summarize(samples, seconds(1), seconds(3), 2).gpus.at(0);
  EXPECT_TRUE(gpu.energy_integrated);
  EXPECT_DOUBLE_EQ(gpu.energy_j.value(), 400);
  EXPECT_THAT(gpu.missing, ElementsAre("energy: not supported"));
}

TEST(TelemetrySummaryTest, WeighsReadingsByTimeAndTakesNoneFromOutsideTheWindow) {
  std::vector<TelemetrySample> samples;
  for (const auto& [second, percent] : std::initializer_list<std::pair<int, double>>{
           {0, 0}, {10, 100}, {11, 100}, {12, 100}, {20, 20}, {21, 0}}) {
    GpuReading reading;
    reading.utilization_percent = percent;
    reading.memory_used_percent = second == 0 ? 90.0 : 50.0;
    samples.push_back(gpu_sample(second, reading));
  }
  const GpuSummary gpu = summarize(samples, seconds(9), seconds(20), 2).gpus.at(0);
  EXPECT_DOUBLE_EQ(gpu.utilization_percent->min, 20);
  EXPECT_DOUBLE_EQ(gpu.utilization_percent->max, 100);
  EXPECT_DOUBLE_EQ(gpu.utilization_percent->mean, (3 * 100 + 8 * 60) / 11.0);
  EXPECT_DOUBLE_EQ(gpu.memory_used_percent->max, 50);
  EXPECT_DOUBLE_EQ(gpu.memory_peak_percent.value(), 90) << "of the whole run";
}

TEST(TelemetrySamplerTest, LooksMoreOftenAtFirst) {
  TelemetrySampler sampler({.root = getpid(), .interval = std::chrono::hours(1)});
  for (int i = 0; i < 1000; ++i) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  sampler.stop();
  EXPECT_GE(sampler.samples().size(), 3U) << "not only the first and the last";
}

TEST(TelemetrySamplerTest, SeesABusyChildAndSurvivesItsEnd) {
  const pid_t child = fork();
  if (child == 0) {
    for (volatile std::uint64_t spin = 0;;) {
      spin = spin + 1;
    }
  }
  TelemetrySampler sampler({.root = child, .interval = milliseconds(20)});
  // Wait until the kernel has charged the child something, however busy the machine is.
  for (int i = 0; i < 1000 && read_tree_usage(child).cpu_s < 0.05; ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  const auto end = system_clock().now();
  std::this_thread::sleep_for(milliseconds(60));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  std::this_thread::sleep_for(milliseconds(60));
  sampler.stop();
  const auto& samples = sampler.samples();
  ASSERT_GE(samples.size(), 3U);
  EXPECT_EQ(samples.back().tree.processes, 0);
  const TelemetrySummary summary = summarize(samples, samples.front().time, end, 1);
  EXPECT_GT(summary.cpu_cores_used.value(), 0);
  EXPECT_GT(summary.resident_peak_bytes, 0);
}

TEST(TelemetrySamplerTest, KeepsTheOtherDeviceWhenOneFallsOffTheBus) {
  setenv("TB_FAKE_NVML", "lost_after=100000", 1);
  std::string reason;
  const auto monitor = GpuMonitor::open(TB_FAKE_NVML_PATH, reason);
  ASSERT_NE(monitor, nullptr) << reason;
  std::vector<TelemetrySample> samples;
  for (int second = 0; second < 4; ++second) {
    if (second == 2) {
      setenv("TB_FAKE_NVML", "lost_after=0", 1);
    }
    TelemetrySample sample = sample_at(second, second, 1);
    sample.gpus = {monitor->read(0), monitor->read(1)};
    samples.push_back(sample);
  }
  const TelemetrySummary summary =
      summarize(samples, seconds(0), seconds(3), 2, monitor->devices());
  ASSERT_EQ(summary.gpus.size(), 2U);
  EXPECT_FALSE(summary.gpus[0].lost);
  EXPECT_DOUBLE_EQ(summary.gpus[0].utilization_percent->mean, 10);
  EXPECT_TRUE(summary.gpus[1].lost);
  EXPECT_DOUBLE_EQ(summary.gpus[1].utilization_percent->mean, 70);
}

}  // namespace
}  // namespace tunebench::hardware
