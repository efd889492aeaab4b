#include "tunebench/cli/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::cli {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Json environment(const char* driver, double watts) {
  return Json::object(
      {{"driver", driver},
       {"memory_usable_bytes", static_cast<std::int64_t>(watts)},
       {"gpus", Json::array({Json::object({{"uuid", "GPU-1"}, {"power_limit_w", watts}})})},
       {"variables", Json::object()}});
}

TEST(EnvironmentDifferencesTest, NamesWhatDiffersAtAnyDepth) {
  EXPECT_THAT(environment_differences(environment("550.90", 700), environment("570.86", 600)),
              ElementsAre("driver: 550.90 -> 570.86", "gpus[0].power_limit_w: 700 -> 600"));
  EXPECT_THAT(environment_differences(environment("550.90", 700), environment("550.90", 700)),
              IsEmpty());
}

TEST(EnvironmentDifferencesTest, ShowsWhatOneSideLacks) {
  Json more = environment("550.90", 700);
  more.set("variables", Json::object({{"OMP_NUM_THREADS", "4"}})).set("cuda", nullptr);
  EXPECT_THAT(environment_differences(environment("550.90", 700), more),
              ElementsAre("variables.OMP_NUM_THREADS: - -> 4"));
}

TEST(EnvironmentNowTest, HoldsMachineBuildTrainerAndLibraries) {
  const Json now = environment_now(*trainer::make_native_trainer());
  for (const char* name : {"cpu_model", "kernel", "os", "compiler", "build_type", "trainer",
                           "tunebench_commit", "variables", "memory_total_bytes"}) {
    EXPECT_NE(now.find(name), nullptr) << name;
  }
  for (const char* name : {"onednn", "sqlite", "zlib"}) {
    EXPECT_FALSE(now.at("libraries").at(name).as_string().empty()) << name;
  }
  EXPECT_THAT(environment_differences(now, environment_now(*trainer::make_native_trainer())),
              IsEmpty());
}

}  // namespace
}  // namespace tunebench::cli
