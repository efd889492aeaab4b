#include "tunebench/analyze/environment_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::analyze {
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

TEST(EnvironmentChangesTest, ReadsAsASentenceAndNamesEachChangeOnce) {
  const auto machine = [](const char* driver, int watts, const char* threads) {
    const Json gpu = Json::object({{"power_limit_w", watts}});
    return Json::object({{"compiler", "12"},
                         {"driver", driver},
                         {"gpus", Json::array({gpu, gpu})},
                         {"memory_total_bytes", std::int64_t{watts} << 30},
                         {"variables", Json::object({{"OMP_NUM_THREADS", threads}})}});
  };
  EXPECT_THAT(environment_changes(machine("550.90", 700, "1"), machine("570.86", 600, "2")),
              ElementsAre("driver 550.90 -> 570.86", "power limit 700 -> 600 W",
                          "memory total 700 GiB -> 600 GiB", "OMP_NUM_THREADS 1 -> 2"));
  EXPECT_THAT(environment_changes(machine("550.90", 700, "1"), machine("550.90", 700, "1")),
              IsEmpty());
}

}  // namespace
}  // namespace tunebench::analyze
