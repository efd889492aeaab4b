#include "tunebench/measure/idle.h"

#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tunebench/base/files.h"
#include "tunebench/measure/measure.h"

namespace tunebench::measure {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Time passes only while somebody sleeps; then things change.
class SleepingClock final : public Clock {
 public:
  [[nodiscard]] nanoseconds now() const override { return now_; }
  void sleep_for(nanoseconds duration) override {
    now_ += duration;
    if (while_asleep) {
      while_asleep();
    }
  }
  [[nodiscard]] std::int64_t unix_seconds() const override { return 0; }
  std::function<void()> while_asleep;

 private:
  nanoseconds now_{0};
};

class IdleTest : public testing::Test {
 protected:
  void play_gpus(const char* settings) {
    setenv("TB_FAKE_NVML", settings, 1);
    std::string reason;
    monitor = hardware::GpuMonitor::open(TB_FAKE_NVML_PATH, reason);
    ASSERT_NE(monitor, nullptr) << reason;
    gpus.monitor = monitor.get();
    gpus.devices = {0, 1};
  }
  /// The machine has been busy for so many core seconds since it was started.
  void play_cpu(double busy_s) {
    const double ticks = busy_s * static_cast<double>(sysconf(_SC_CLK_TCK));
    std::ofstream(folder.path() / "stat")
        << "cpu " << static_cast<long>(ticks) << " 0 0 5 0 0 0 0\n";
  }
  std::vector<std::string> wait() {
    return IdleCheck(gpus, rules, clock, folder.path()).wait(stop);
  }

  TemporaryFolder folder;
  PointGpus gpus;
  IdleRules rules;
  SleepingClock clock;
  StopFlag stop;
  std::unique_ptr<hardware::GpuMonitor> monitor;
};

TEST_F(IdleTest, FindsNothingOnIdleGpus) {
  play_gpus("idle=1");
  EXPECT_THAT(wait(), IsEmpty());
  EXPECT_EQ(clock.now(), nanoseconds(0)) << "and waits for nothing";
}

TEST_F(IdleTest, NamesProcessUtilizationAndHeat) {
  play_gpus("processes=4242");
  rules.most_gpu_temperature_c = 50;
  EXPECT_THAT(wait(), ElementsAre("gpu 0: process 4242 uses it", "gpu 0: 10 % utilized",
                                  "gpu 0: 55 degC, above 50", "gpu 1: process 4242 uses it",
                                  "gpu 1: 70 % utilized", "gpu 1: 55 degC, above 50"));
}

TEST_F(IdleTest, WaitsUntilAllIsIdle) {
  play_gpus("");
  rules.wait_s = 60;
  int sleeps = 0;
  clock.while_asleep = [&] {
    if (++sleeps == 3) {
      setenv("TB_FAKE_NVML", "idle=1", 1);
    }
  };
  EXPECT_THAT(wait(), IsEmpty());
  EXPECT_EQ(clock.now(), std::chrono::seconds(3));
}

TEST_F(IdleTest, WaitsNoLongerThanItMayNorAfterAnInterrupt) {
  play_gpus("");
  rules.wait_s = 5;
  EXPECT_THAT(wait(), testing::SizeIs(2));
  EXPECT_EQ(clock.now(), std::chrono::seconds(5));
  stop.level = 1;
  EXPECT_THAT(wait(), testing::SizeIs(2));
  EXPECT_EQ(clock.now(), std::chrono::seconds(5));
}

TEST_F(IdleTest, NotesTheLoadOfOthersOnACpu) {
  play_cpu(100);
  clock.while_asleep = [this] { play_cpu(100.2); };
  EXPECT_THAT(wait(), ElementsAre("other processes use 2.0 cores"));
  clock.while_asleep = [this] { play_cpu(100.2); };
  EXPECT_THAT(wait(), IsEmpty());
}

TEST_F(IdleTest, AMachineThatDoesNotTellCountsAsIdle) {
  EXPECT_THAT(wait(), IsEmpty());
}

TEST_F(IdleTest, ARefusedPointIsSkippedWithTheReasonAndStartsNothing) {
  play_gpus("processes=4242 idle=1");
  Request request;
  request.point.inputs = {{"number_gpus", 2}};
  request.log_file = folder.path() / "point.log";
  request.gpus = monitor.get();
  request.idle = IdleRules{.refuse = true};
  const auto trainer = trainer::make_command_trainer({"/nowhere/trainer"});
  const record::Record record = measure_point(request, *trainer, clock, stop, nullptr);
  EXPECT_EQ(record.status, record::Outcome::Skipped);
  EXPECT_THAT(record.reason, HasSubstr("not idle: gpu 0: process 4242 uses it"));
}

TEST_F(IdleTest, ABusyMachineIsMarkedInTheRecord) {
  play_gpus("processes=4242 idle=1");
  Request request;
  request.point.inputs = {{"number_gpus", 2}};
  request.gpus = monitor.get();
  request.idle = IdleRules{};
  request.log_file = folder.path() / "point.log";
  const auto trainer =
      trainer::make_command_trainer({TB_SCRIPTED_TRAINER, "phase:train", "steps:8", "end"});
  const record::Record record = measure_point(request, *trainer, system_clock(), stop, nullptr);
  EXPECT_EQ(record.status, record::Outcome::Ok) << record.reason;
  EXPECT_EQ(record.get("busy").as_string(),
            "gpu 0: process 4242 uses it; gpu 1: process 4242 uses it");
}

}  // namespace
}  // namespace tunebench::measure
