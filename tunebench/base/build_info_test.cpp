#include "tunebench/base/build_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench {
namespace {

TEST(BuildInfoTest, NamesVersionCommitAndCompiler) {
  const BuildInfo& info = build_info();
  EXPECT_THAT(info.version, testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
  EXPECT_THAT(info.commit, testing::AnyOf("unknown", testing::MatchesRegex("[0-9a-f]{7,}")));
  EXPECT_THAT(info.compiler, testing::MatchesRegex("[A-Za-z]+ [0-9.]+"));
}

TEST(BuildInfoTest, SaysWhetherThisBuildHasASanitizer) {
#if defined(__SANITIZE_ADDRESS__)
  EXPECT_THAT(build_info().sanitizer, testing::HasSubstr("address"));
#elif defined(__SANITIZE_THREAD__)
  EXPECT_EQ(build_info().sanitizer, "thread");
#else
  EXPECT_EQ(build_info().sanitizer, "");
#endif
}

}  // namespace
}  // namespace tunebench
