#include "tunebench/base/log.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace tunebench {
namespace {

class LogTest : public testing::Test {
 protected:
  ~LogTest() override { set_log_sink({}); }
};

TEST_F(LogTest, GoesToTheSinkWithItsLevel) {
  std::vector<std::pair<LogLevel, std::string>> seen;
  set_log_sink([&](LogLevel level, const std::string& text) { seen.emplace_back(level, text); });
  log_info("reading");
  log_warning("slow disk");
  const std::vector<std::pair<LogLevel, std::string>> expected = {{LogLevel::Info, "reading"},
                                                                  {LogLevel::Warning, "slow disk"}};
  EXPECT_EQ(seen, expected);
}

TEST_F(LogTest, IsDroppedWithoutASink) {
  int seen = 0;
  set_log_sink([&](LogLevel, const std::string&) { ++seen; });
  set_log_sink({});
  log_info("nobody reads this");
  EXPECT_EQ(seen, 0);
}

TEST_F(LogTest, SaysAWarningOnceToEachSink) {
  int seen = 0;
  const auto count = [&](LogLevel level, const std::string&) {
    seen += level == LogLevel::Warning ? 1 : 0;
  };
  set_log_sink(count);
  log_warning_once("no power reading");
  log_warning_once("no power reading");
  log_warning_once("no clock reading");
  EXPECT_EQ(seen, 2);
  set_log_sink(count);
  log_warning_once("no power reading");
  EXPECT_EQ(seen, 3);
}

TEST_F(LogTest, CallsTheSinkFromOneThreadAtATime) {
  int seen = 0;  // not atomic on purpose
  set_log_sink([&](LogLevel, const std::string&) { ++seen; });
  std::thread other([] {
    for (int i = 0; i < 500; ++i) {
      log_info("there");
    }
  });
  for (int i = 0; i < 500; ++i) {
    log_info("here");
  }
  other.join();
  EXPECT_EQ(seen, 1000);
}

}  // namespace
}  // namespace tunebench
