// The system refuses memory to a trainer: that is a result, and everybody else goes on.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using testing::HasSubstr;

TEST(MemoryBound, OutOfMemoryIsARowAndTheStoreGoesOn) {
  Session session;
  session.limit_memory(1'000'000);
  const Said refused = session.run(
      {"run", "-m", "smollm2-135m", "-l", "128", "-b", "1", "--max-steps", "1", "--repeats", "1"});
  EXPECT_EQ(refused.exit.code, 3) << refused.err;
  EXPECT_THAT(refused.out, HasSubstr("oom_host: "));
  EXPECT_THAT(refused.out, HasSubstr("GiB"));
  const Said fits = session.run(
      {"run", "-m", "tiny", "-l", "32", "-b", "1", "--max-steps", "3", "--repeats", "1"});
  EXPECT_EQ(fits.exit.code, 0) << fits.err;
  const Json rows = session.exported();
  ASSERT_EQ(rows.as_array().size(), 2U) << "no second attempt after a lack of memory";
  EXPECT_EQ(rows.as_array()[0].at("status").as_string(), "oom_host");
  EXPECT_GT(rows.as_array()[0].at("needed_bytes").as_int(), 1'000'000'000);
  EXPECT_EQ(rows.as_array()[1].at("status").as_string(), "ok");
}

}  // namespace
}  // namespace tunebench::integration
