// Telemetry of real processes, and of GPUs played by a management library of the tests.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/log.h"
#include "tunebench/measure/measure.h"

namespace tunebench::measure {
namespace {

using record::Outcome;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

class TelemetryChildTest : public testing::Test {
 protected:
  TelemetryChildTest() {
    request.point.experiment = "finetune_full_benchmark-v1.0.0";
    request.point.inputs = {{"max_steps", -1}, {"number_gpus", 2}};
    request.log_file = folder.path() / "point.log";
    request.protocol.min_timed_steps = 20;
    request.protocol.min_timed_s = 0.3;
    request.protocol.max_warmup_steps = 10;
    request.protocol.telemetry_interval_s = 0.02;
    set_log_sink([this](LogLevel, const std::string& text) { said.push_back(text); });
    unsetenv("CUDA_VISIBLE_DEVICES");
  }
  ~TelemetryChildTest() override {
    set_log_sink({});
    unsetenv("CUDA_VISIBLE_DEVICES");
  }

  /// `settings` as fake_nvml.cpp explains them.
  void play_gpus(const char* settings, const char* library = TB_FAKE_NVML_PATH) {
    setenv("TB_FAKE_NVML", settings, 1);
    std::string reason;
    monitor = hardware::GpuMonitor::open(library, reason);
    ASSERT_NE(monitor, nullptr) << reason;
    request.gpus = monitor.get();
  }

  record::Record measure(std::vector<std::string> actions = {"phase:train", "until-stop", "end"}) {
    actions.insert(actions.begin(), TB_SCRIPTED_TRAINER);
    const auto trainer = trainer::make_command_trainer(std::move(actions));
    record::Record record = measure_point(request, *trainer, system_clock(), stop, nullptr);
    EXPECT_EQ(record.status, Outcome::Ok) << record.reason;
    return record;
  }

  TemporaryFolder folder;
  Request request;
  StopFlag stop;
  std::unique_ptr<hardware::GpuMonitor> monitor;
  std::vector<std::string> said;
};

TEST_F(TelemetryChildTest, MeasuresTwoDevices) {
  play_gpus("devices=2");
  const record::Record record = measure();
  EXPECT_EQ(record.number("gpu_compute_utilization_min"), 10.0);
  EXPECT_DOUBLE_EQ(record.number("gpu_compute_utilization_avg").value(), 40.0);
  EXPECT_EQ(record.number("gpu_compute_utilization_max"), 70.0);
  EXPECT_EQ(record.number("gpu_memory_utilization_min"), 30.0);
  EXPECT_EQ(record.number("gpu_memory_utilization_peak"), 60.0);
  EXPECT_EQ(record.get("gpu_memory_peak_bytes").as_int(), 600);
  EXPECT_EQ(record.number("gpu_power_watts_avg"), 350.0);
  EXPECT_EQ(record.number("gpu_power_percent_avg"), 50.0);
  EXPECT_EQ(record.number("gpu_throttled_percent"), 0.0);
  EXPECT_GT(record.number("energy_j").value(), 0);
  EXPECT_GE(record.get("telemetry_samples").as_int(), 2);
  EXPECT_TRUE(said.empty());
}

TEST_F(TelemetryChildTest, GoesOnWhenOneDeviceFallsOffTheBus) {
  play_gpus("devices=2 lost_after=12");
  const record::Record record = measure();
  EXPECT_EQ(record.number("gpu_compute_utilization_min"), 10.0) << "the other device is there";
  EXPECT_THAT(record.get("telemetry_missing").as_string(), HasSubstr("gpu 1: fell off the bus"));
  EXPECT_TRUE(record.get("energy_j").is_null());
  EXPECT_THAT(said, ElementsAre("not measured: gpu 1: fell off the bus"));
}

TEST_F(TelemetryChildTest, ManagesWithoutTheNewerFunctions) {
  play_gpus("devices=2", TB_FAKE_NVML_OLD_PATH);
  const record::Record record = measure();
  EXPECT_DOUBLE_EQ(record.number("gpu_compute_utilization_avg").value(), 40.0);
  EXPECT_EQ(record.number("gpu_power_watts_avg"), 350.0);
  EXPECT_TRUE(record.get("gpu_power_percent_avg").is_null()) << "there is no limit to divide by";
  EXPECT_TRUE(record.get("gpu_throttled_percent").is_null());
  EXPECT_EQ(record.get("energy_source").as_string(), "gpu power");
  EXPECT_THAT(record.get("telemetry_missing").as_string(),
              HasSubstr("gpu 0 throttle reasons: not supported"));
}

/// TEL-01 of the collected cases.
TEST_F(TelemetryChildTest, OneUnsupportedReadingRemovesNoOther) {
  play_gpus("devices=2 power=3");
  const record::Record first = measure();
  EXPECT_EQ(first.number("gpu_compute_utilization_avg"), 40.0);
  EXPECT_EQ(first.number("gpu_memory_utilization_avg"), 45.0);
  EXPECT_TRUE(first.get("gpu_power_watts_avg").is_null());
  EXPECT_TRUE(first.get("gpu_power_percent_avg").is_null());
  EXPECT_THAT(first.get("telemetry_missing").as_string(), HasSubstr("gpu 0 power: not supported"));
  EXPECT_EQ(measure().status, Outcome::Ok);
  EXPECT_THAT(said, ElementsAre(StartsWith("not measured: gpu 0 power: not supported")))
      << "once for both measurements";
}

TEST_F(TelemetryChildTest, MarksThrottlingWithItsShare) {
  play_gpus("devices=2 throttle=0x24");
  const record::Record record = measure();
  EXPECT_EQ(record.number("gpu_throttled_percent"), 100.0);
  EXPECT_EQ(record.get("gpu_throttle_reasons").as_string(), "power cap, software thermal slowdown");
}

/// TEL-03: the driver is not there; the run goes on.
TEST_F(TelemetryChildTest, GoesOnWithoutADriver) {
  setenv("TB_FAKE_NVML", "init=9", 1);
  std::string reason;
  EXPECT_EQ(hardware::GpuMonitor::open(TB_FAKE_NVML_PATH, reason), nullptr);
  request.point.inputs["number_gpus"] = 0;
  const record::Record record = measure();
  EXPECT_TRUE(record.get("gpu_compute_utilization_avg").is_null());
  EXPECT_TRUE(said.empty()) << "a CPU run says nothing about GPUs";
}

/// TEL-04: the device is named by its UUID, as schedulers do.
TEST_F(TelemetryChildTest, WatchesTheDeviceThatIsNamed) {
  play_gpus("devices=2");
  request.point.inputs["number_gpus"] = 1;
  setenv("CUDA_VISIBLE_DEVICES", "GPU-af7b61d8", 1);
  const record::Record record = measure();
  EXPECT_EQ(record.number("gpu_compute_utilization_min"), 70.0);
  EXPECT_EQ(record.number("gpu_compute_utilization_max"), 70.0);
}

TEST_F(TelemetryChildTest, RefusesADeviceThatIsNotThere) {
  play_gpus("devices=2");
  setenv("CUDA_VISIBLE_DEVICES", "GPU-deadbeef", 1);
  const auto trainer = trainer::make_command_trainer({TB_SCRIPTED_TRAINER, "until-stop", "end"});
  const record::Record record = measure_point(request, *trainer, system_clock(), stop, nullptr);
  EXPECT_EQ(record.status, Outcome::InvalidConfig);
  EXPECT_THAT(record.reason, HasSubstr("GPU-deadbeef"));
  EXPECT_FALSE(std::filesystem::exists(request.log_file)) << "nothing was started";
}

TEST_F(TelemetryChildTest, CountsTheCpuTimeOfTheTimedWindow) {
  request.point.inputs["number_gpus"] = 0;
  request.protocol.min_timed_s = 1;
  const record::Record busy = measure({"phase:train", "busy", "us:5000", "until-stop", "end"});
  const record::Record idle = measure({"phase:train", "us:5000", "until-stop", "end"});
  EXPECT_GT(busy.number("cpu_cores_used").value(), 0);
  EXPECT_GT(busy.number("cpu_cores_used").value(), idle.number("cpu_cores_used").value());
  EXPECT_GT(busy.get("resident_mean_bytes").as_int(), 0);
  EXPECT_GT(busy.number("cpu_memory_utilization").value(), 0);
  EXPECT_TRUE(said.empty());
}

/// MEM-01: the peak is that of this run, not of one before, and of the whole tree.
TEST_F(TelemetryChildTest, PeaksAreNotInheritedAndHoldTheDescendants) {
  constexpr std::int64_t kMiB = 1024 * 1024;
  request.point.inputs["number_gpus"] = 0;
  const std::vector<std::string> rest{"phase:train", "until-stop", "end"};
  const auto peak = [&](std::vector<std::string> before) {
    before.insert(before.end(), rest.begin(), rest.end());
    return measure(before).get("host_peak_bytes").as_int();
  };
  const std::int64_t large = peak({"memory:160"});
  const std::int64_t small = peak({"memory:1"});
  const std::int64_t tree = peak({"memory:60", "child-memory:60", "child-memory:60"});
  EXPECT_GT(large, 160 * kMiB);
  EXPECT_LT(small, large - 100 * kMiB);
  EXPECT_GT(tree, 180 * kMiB) << "no process of the three has as much";
}

}  // namespace
}  // namespace tunebench::measure
