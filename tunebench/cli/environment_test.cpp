#include "tunebench/cli/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/analyze/environment_difference.h"

namespace tunebench::cli {
namespace {

using testing::IsEmpty;

TEST(EnvironmentNowTest, HoldsMachineBuildTrainerAndLibraries) {
  const Json now = environment_now(*trainer::make_native_trainer());
  for (const char* name : {"cpu_model", "kernel", "os", "compiler", "build_type", "trainer",
                           "tunebench_commit", "variables", "memory_total_bytes"}) {
    EXPECT_NE(now.find(name), nullptr) << name;
  }
  for (const char* name : {"onednn", "sqlite", "zlib"}) {
    EXPECT_FALSE(now.at("libraries").at(name).as_string().empty()) << name;
  }
  EXPECT_THAT(
      analyze::environment_differences(now, environment_now(*trainer::make_native_trainer())),
      IsEmpty());
}

}  // namespace
}  // namespace tunebench::cli
