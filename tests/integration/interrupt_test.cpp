// ctrl-C while a step runs that takes much longer than anybody waits.
#include <chrono>
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// One step of half a minute and more.
const std::vector<std::string>& slow_step() {
  static const std::vector<std::string> kWords{
      "run", "-m",        "tiny", "-l", "512", "-b", "64", "--gradient-accumulation-steps",
      "32",  "--repeats", "1"};
  return kWords;
}

/// Waits until the child trains, as the progress lines tell.
void wait_for_training(const Session& session) {
  for (int tries = 0; tries < 600; ++tries) {
    const std::filesystem::path err = session.folder() / "err.1";
    if (std::filesystem::exists(err) && read_file(err).find("run :") != std::string::npos) {
      std::this_thread::sleep_for(seconds(2));
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  FAIL() << "it does not start";
}

void expect_interrupted(const Said& said, Session& session) {
  EXPECT_EQ(said.exit.code, 130) << said.err;
  EXPECT_THAT(said.err, HasSubstr("goes on where it stopped: tunebench run -m tiny"));
  const Json rows = session.exported();
  ASSERT_EQ(rows.as_array().size(), 1U);
  EXPECT_EQ(rows.as_array()[0].at("status").as_string(), "interrupted");
}

TEST(Interrupt, OnceDoesNotWaitForAStepThatTakesLong) {
  Session session;
  Session::Running running = session.start(slow_step());
  wait_for_training(session);
  const auto before = std::chrono::steady_clock::now();
  running.signal(SIGINT);
  const Said said = running.wait(seconds(25));
  RecordProperty("milliseconds", std::to_string((std::chrono::steady_clock::now() - before) /
                                                std::chrono::milliseconds(1)));
  expect_interrupted(said, session);
}

TEST(Interrupt, TwiceEndsAtOnce) {
  Session session;
  Session::Running running = session.start(slow_step());
  wait_for_training(session);
  running.signal(SIGINT);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  running.signal(SIGINT);
  expect_interrupted(running.wait(seconds(25)), session);
}

}  // namespace
}  // namespace tunebench::integration
