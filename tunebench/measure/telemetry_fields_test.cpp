#include "tunebench/measure/telemetry_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/log.h"

namespace tunebench::measure {
namespace {

using hardware::GpuReading;
using hardware::TelemetrySample;
using std::chrono::seconds;
using testing::HasSubstr;
using testing::Not;

constexpr TimedSpan kWindow{seconds(2), seconds(12)};

/// A sample a second over 14 s: warm-up until 2, then the window.
std::vector<TelemetrySample> samples_of(int gpus,
                                        const std::function<void(int, GpuReading&)>& set) {
  std::vector<TelemetrySample> samples;
  for (int second = 0; second <= 14; ++second) {
    TelemetrySample sample;
    sample.time = seconds(second);
    sample.tree = {.cpu_s = 1.5 * second,
                   .resident_bytes = second < 2 ? 900 : 250,
                   .minor_faults = 10 * second,
                   .major_faults = second,
                   .processes = 2};
    sample.machine.busy_s = 1.75 * second;
    for (int gpu = 0; gpu < gpus; ++gpu) {
      GpuReading reading;
      set(gpu, reading);
      if (second < 2 && reading.power_w) {
        reading.power_w = 5000;  // warm-up: must not show
      }
      sample.gpus.push_back(reading);
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

record::Record record_of(const std::vector<TelemetrySample>& samples, int gpus,
                         std::string missing = "") {
  Sampled sampled{.samples = samples,
                  .gpus_missing = std::move(missing),
                  .usable_cores = 2,
                  .usable_memory_bytes = 1000};
  for (int gpu = 0; gpu < gpus; ++gpu) {
    sampled.gpus.push_back({.index = gpu, .power_limit_w = 750.0});
  }
  record::Record record;
  record.set("tokens_nonpad", 113'000);
  set_telemetry_fields(record, sampled, kWindow);
  return record;
}

TEST(TelemetryFieldsTest, WithoutGpusThereAreCpuFiguresAndNoGpuFigureNotEvenZero) {
  const record::Record record = record_of(samples_of(0, {}), 0);
  EXPECT_DOUBLE_EQ(record.number("cpu_cores_used").value(), 1.5);
  EXPECT_DOUBLE_EQ(record.number("cpu_compute_utilization").value(), 150);
  EXPECT_DOUBLE_EQ(record.number("cpu_percent_of_usable").value(), 75);
  EXPECT_DOUBLE_EQ(record.number("other_cores_used").value(), 0.25);
  EXPECT_EQ(record.get("resident_mean_bytes").as_int(), 250);
  EXPECT_DOUBLE_EQ(record.number("cpu_memory_utilization").value(), 25);
  EXPECT_EQ(record.get("page_faults_minor").as_int(), 100);
  EXPECT_EQ(record.get("page_faults_major").as_int(), 10);
  EXPECT_EQ(record.get("telemetry_samples").as_int(), 11);
  EXPECT_TRUE(record.get("energy_j").is_null());
  for (const auto& [name, value] : record.measured) {
    EXPECT_THAT(name, Not(testing::StartsWith("gpu_")));
  }
  EXPECT_THAT(record.get("telemetry_missing").as_string(), HasSubstr("cpu energy: not readable"));
}

TEST(TelemetryFieldsTest, GivesTheReferencesTwelveOverDevices) {
  const record::Record record = record_of(samples_of(2,
                                                     [](int gpu, GpuReading& reading) {
                                                       reading.utilization_percent = 80 + 10 * gpu;
                                                       reading.memory_used_percent = 40 + 20 * gpu;
                                                       reading.power_w = 300 + 300 * gpu;
                                                     }),
                                          2);
  const auto expect_range = [&](const std::string& name, double least, double mean, double most) {
    EXPECT_DOUBLE_EQ(record.number(name + "_min").value(), least) << name;
    EXPECT_DOUBLE_EQ(record.number(name + "_avg").value(), mean) << name;
    EXPECT_DOUBLE_EQ(record.number(name + "_max").value(), most) << name;
  };
  expect_range("gpu_compute_utilization", 80, 85, 90);
  expect_range("gpu_memory_utilization", 40, 50, 60);
  expect_range("gpu_power_watts", 300, 450, 600);
  expect_range("gpu_power_percent", 40, 60, 80);
  EXPECT_DOUBLE_EQ(record.number("gpu_memory_utilization_peak").value(), 60);
}

TEST(TelemetryFieldsTest, EnergyPerTokenOfTwoGpusAtSixHundredWatts) {
  // 11,300 tokens a second for ten seconds.
  const record::Record record =
      record_of(samples_of(2, [](int, GpuReading& reading) { reading.power_w = 600; }), 2);
  EXPECT_DOUBLE_EQ(record.number("energy_j").value(), 12'000);
  EXPECT_NEAR(record.number("j_per_token").value(), 0.10619, 0.000005);
  EXPECT_NEAR(record.number("tokens_per_j").value(), 1 / 0.10619, 0.001);
  EXPECT_EQ(record.get("energy_source").as_string(), "gpu power");
}

TEST(TelemetryFieldsTest, AddsThePackageAndPrefersTheCounter) {
  std::vector<TelemetrySample> samples =
      samples_of(1, [](int, GpuReading& reading) { reading.power_w = 600; });
  for (TelemetrySample& sample : samples) {
    const double second = std::chrono::duration<double>(sample.time).count();
    sample.gpus[0].energy_j = 7000 + 500 * second;
    sample.machine.package_energy_j = 40 * second;
  }
  const record::Record record = record_of(samples, 1);
  EXPECT_DOUBLE_EQ(record.number("energy_j").value(), 5400);
  EXPECT_DOUBLE_EQ(record.number("cpu_package_energy_j").value(), 400);
  EXPECT_EQ(record.get("energy_source").as_string(), "gpu counter + cpu package");
}

TEST(TelemetryFieldsTest, GivesNoEnergyThatLacksADevice) {
  std::vector<TelemetrySample> samples = samples_of(2, [](int gpu, GpuReading& reading) {
    if (gpu == 0) {
      reading.power_w = 600;
    } else {
      reading.missing = {"power: not supported", "energy: not supported"};
    }
  });
  for (TelemetrySample& sample : samples) {
    sample.machine.package_energy_j = 1;
  }
  EXPECT_TRUE(record_of(samples, 2).get("energy_j").is_null());
  EXPECT_TRUE(record_of(samples_of(0, {}), 0, "no NVIDIA driver found").get("energy_j").is_null());
}

TEST(TelemetryFieldsTest, MarksThrottlingWithItsShareAndReasons) {
  std::vector<TelemetrySample> samples = samples_of(
      2, [](int gpu, GpuReading& reading) { reading.throttle_reasons = gpu == 0 ? 0x1U : 0x0U; });
  samples[5].gpus[1].throttle_reasons = 0x4;
  samples[6].gpus[1].throttle_reasons = 0x24;
  samples[0].gpus[0].throttle_reasons = 0x80;  // warm-up
  const record::Record record = record_of(samples, 2);
  EXPECT_NEAR(record.number("gpu_throttled_percent").value(), 100 * 2 / 11.0, 1e-9);
  EXPECT_EQ(record.get("gpu_throttle_reasons").as_string(), "power cap, software thermal slowdown");
  const record::Record untold = record_of(samples_of(1, [](int, GpuReading&) {}), 1);
  EXPECT_TRUE(untold.get("gpu_throttled_percent").is_null()) << "not told is not zero";
}

TEST(TelemetryFieldsTest, AWindowWithoutTwoSamplesHasNoSystemFigures) {
  std::vector<TelemetrySample> samples =
      samples_of(1, [](int, GpuReading& reading) { reading.power_w = 600; });
  samples.erase(samples.begin() + 3, samples.end() - 2);
  const record::Record record = record_of(samples, 1);
  EXPECT_TRUE(record.get("cpu_compute_utilization").is_null());
  EXPECT_TRUE(record.get("gpu_power_watts_avg").is_null());
  EXPECT_TRUE(record.get("energy_j").is_null());
  EXPECT_EQ(record.get("telemetry_samples").as_int(), 1);
  EXPECT_THAT(record.get("telemetry_missing").as_string(), HasSubstr("too short"));
}

TEST(TelemetryFieldsTest, WarnsOnceOfWhatAGpuDoesNotTellAndNeverOfTheMachine) {
  std::vector<std::string> said;
  set_log_sink([&said](LogLevel, const std::string& text) { said.push_back(text); });
  static_cast<void>(record_of(samples_of(0, {}), 0));
  EXPECT_TRUE(said.empty());
  const auto samples = samples_of(1, [](int, GpuReading& reading) {
    reading.utilization_percent = 50;
    reading.missing = {"power: not supported"};
  });
  const record::Record record = record_of(samples, 1);
  static_cast<void>(record_of(samples, 1));
  set_log_sink({});
  EXPECT_THAT(said, testing::ElementsAre("not measured: gpu 0 power: not supported"));
  EXPECT_THAT(record.get("telemetry_missing").as_string(), HasSubstr("gpu 0 power: not supported"));
  EXPECT_DOUBLE_EQ(record.number("gpu_compute_utilization_avg").value(), 50);
  EXPECT_TRUE(record.get("gpu_power_watts_avg").is_null());
}

}  // namespace
}  // namespace tunebench::measure
