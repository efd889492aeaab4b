// A run that was interrupted goes on under its name; one is watched and stopped from elsewhere.
#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"

namespace tunebench::integration {
namespace {

using std::chrono::milliseconds;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kAtOnce = R"({"time_scale":0,"step":{"base_s":0.1}})";
constexpr const char* kHalfASecond = R"({"step":{"base_s":0.05}})";

class ResumeTest : public testing::Test {
 protected:
  std::vector<std::string> words(std::vector<std::string> more = {}) {
    std::vector<std::string> words{"run",       "-m",           "tiny",      "-l",
                                   "16",        "-b",           "1..4",      "--repeats",
                                   "1",         "--max-steps",  "10",        "--trainer",
                                   "simulated", "--simulation", "model.json"};
    words[14] = (session.folder() / "model.json").string();
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Json runs() {
    const Said said = session.run({"runs", "--json", "--simulated"});
    return said.exit.code == 0 ? Json::parse(said.out, "runs") : Json::array();
  }
  std::string name() { return runs().as_array().at(0).at("run").as_string(); }
  std::string status() { return runs().as_array().at(0).at("status").as_string(); }

  bool wait_for(std::int64_t measured) {
    for (int look = 0; look < 1200; ++look) {
      const Json all = runs();
      if (!all.as_array().empty() && all.as_array()[0].at("measured").as_int() >= measured) {
        return true;
      }
      std::this_thread::sleep_for(milliseconds(20));
    }
    return false;
  }

  Session session;
};

TEST_F(ResumeTest, GoesOnAfterAKillUnderItsNameWithThePlanOfTheStore) {
  session.write("model.json", kHalfASecond);
  Session::Running running = session.start(words());
  ASSERT_TRUE(wait_for(1));
  running.signal(SIGKILL);
  running.wait();
  const Said listed = session.run({"runs", "--simulated"});
  EXPECT_THAT(listed.err,
              ContainsRegex("^[a-z]+-[a-z]+ was interrupted (just now|.* ago) after [0-9] of 4 "
                            "measurements \\(all [0-9] saved\\)\\. Continue: tunebench "
                            "resume [a-z]+-[a-z]+\n"));
  EXPECT_EQ(status(), "interrupted");
  std::filesystem::remove(session.folder() / "model.json");
  const std::string run = name();
  const Said resumed = session.run({"resume", run});
  EXPECT_EQ(resumed.exit.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("measured before"));
  EXPECT_THAT(resumed.err, HasSubstr("run : " + run));
  const Json all = runs();
  ASSERT_EQ(all.as_array().size(), 1U);
  EXPECT_EQ(all.as_array()[0].at("status").as_string(), "finished");
  EXPECT_EQ(all.as_array()[0].at("measured").as_int(), 4);
  const Said again = session.run({"resume", run});
  EXPECT_EQ(again.exit.code, 0) << again.err;
  EXPECT_THAT(again.err, HasSubstr("4 measured before"));
}

TEST_F(ResumeTest, StopEndsARunFromElsewhereAndResumeRefusesALiveOne) {
  session.write("model.json", kHalfASecond);
  Session::Running running = session.start(words({"--repeats", "50"}));
  running.wait(std::chrono::seconds(20));  // refused: --repeats is given twice
  running = session.start([&] {
    std::vector<std::string> many = words();
    many[8] = "50";
    return many;
  }());
  ASSERT_TRUE(wait_for(1));
  const Said refused = session.run({"resume"});
  EXPECT_EQ(refused.exit.code, 1);
  EXPECT_THAT(refused.err, HasSubstr(" is running: process "));
  const Said stopped = session.run({"stop", name()});
  EXPECT_EQ(stopped.exit.code, 0) << stopped.err;
  EXPECT_THAT(stopped.out, HasSubstr("was asked to stop"));
  const Said said = running.wait(std::chrono::seconds(20));
  EXPECT_EQ(said.exit.code, 130);
  EXPECT_THAT(said.err, HasSubstr("stopped; "));
  EXPECT_THAT(said.err, HasSubstr("continue this run: tunebench resume " + name()));
  EXPECT_EQ(status(), "interrupted");
  EXPECT_THAT(session.run({"show", "--simulated"}).out,
              HasSubstr("ended: stop_requested, tunebench stop asked for it"));
  const Said again = session.run({"stop", name()});
  EXPECT_EQ(again.exit.code, 1);
  EXPECT_THAT(again.err, HasSubstr("is not running"));
}

TEST_F(ResumeTest, WatchFollowsADetachedRunToItsEnd) {
  session.write("model.json", kHalfASecond);
  const Said started = session.run(words({"--detach"}));
  EXPECT_EQ(started.exit.code, 0) << started.err;
  const std::string run = started.out.substr(0, started.out.find('\n'));
  EXPECT_THAT(started.err, HasSubstr("tunebench watch " + run));
  const Said watched = session.run({"watch", run});
  EXPECT_EQ(watched.exit.code, 0) << watched.err;
  EXPECT_THAT(watched.err, ContainsRegex("running  [0-3]/4 done.*  heartbeat [0-9]+ s ago"));
  EXPECT_THAT(watched.err, HasSubstr("now: batch="));
  EXPECT_THAT(watched.out, HasSubstr(run + "  finished  4/4 done"));
  EXPECT_THAT(read_file(session.store().parent_path() / "logs" / (run + ".out")),
              HasSubstr("tokens/s"));
}

TEST_F(ResumeTest, DetachShowsInTheForegroundWhatIsWrong) {
  session.write("model.json", kAtOnce);
  EXPECT_EQ(session.run(words({"--detach", "--order", "sideways"})).exit.code, 1);
  const std::string file = session.write("not-a-store", std::string(5000, 'x'));
  const Said said = session.run(words({"--detach", "--store", file}));
  EXPECT_EQ(said.exit.code, 1);
  EXPECT_THAT(said.err, HasSubstr("not-a-store"));
  EXPECT_EQ(said.out, "");
}

TEST_F(ResumeTest, RerunIsANewRunOfThePlanWithWhatIsSet) {
  session.write("model.json", kAtOnce);
  ASSERT_EQ(session.run(words()).exit.code, 0);
  const Said command = session.run({"show", "--as-command"});
  EXPECT_EQ(command.out.substr(0, 34), "tunebench run -m tiny -l 16 -b 1..");
  const Said same = session.run({"rerun", "@last"});
  EXPECT_EQ(same.exit.code, 0) << same.err;
  EXPECT_THAT(same.err, HasSubstr("4 reused"));
  const Said fresh = session.run({"rerun", "@last", "--fresh"});
  EXPECT_THAT(fresh.err, HasSubstr("0 reused"));
  const Said changed = session.run({"rerun", "@last~2", "--set", "batch=8", "--set", "repeats=2"});
  EXPECT_EQ(changed.exit.code, 0) << changed.err;
  EXPECT_THAT(changed.err, HasSubstr("plan: 1 point x 2 repeats, 0 reused"));
  EXPECT_EQ(runs().as_array().size(), 4U);
  const Said typo = session.run({"rerun", "@last", "--set", "bacth=8"});
  EXPECT_EQ(typo.exit.code, 1);
  EXPECT_THAT(typo.err, HasSubstr("--batch"));
  EXPECT_EQ(session.run({"rerun", "@last", "--set", "batch"}).exit.code, 1);
}

TEST_F(ResumeTest, OlderResultsOfOtherConditionsAreToldAndReusedOnlyWhenAsked) {
  session.write("model.json", kAtOnce);
  ASSERT_EQ(session.run(words()).exit.code, 0);
  EXPECT_THAT(session.run({"stale"}).out, HasSubstr("nothing is stale"));
  session.write("model.json", R"({"time_scale":0,"step":{"base_s":0.2}})");
  const Said accepted = session.run(words({"--accept-stale"}));
  EXPECT_EQ(accepted.exit.code, 0) << accepted.err;
  EXPECT_THAT(accepted.err,
              ContainsRegex("4 of 4 points reuse older results that are not comparable: "
                            "trainer_version [^ ]+ -> [^ ]+\\."));
  EXPECT_THAT(accepted.out, HasSubstr("stale (trainer_version "));
  EXPECT_THAT(session.run({"show", "--simulated"}).out, HasSubstr("stale (trainer_version "));
  const Said anew = session.run(words());
  EXPECT_THAT(anew.err, ContainsRegex("4 of 4 points have older results that are not comparable: "
                                      "trainer_version [^ ]+ -> [^ ]+\\. Measuring again \\(use "
                                      "--accept-stale to reuse\\)\\."));
  EXPECT_THAT(anew.out, Not(HasSubstr("stale")));
  EXPECT_THAT(session.run(words()).err, Not(HasSubstr("not comparable")));
  std::this_thread::sleep_for(milliseconds(2100));
  const Said aged = session.run(words({"--max-age", "1s"}));
  EXPECT_THAT(aged.err,
              HasSubstr("4 of 4 points have results older than 1s only. Measuring again."));
  EXPECT_THAT(session.run(words({"--max-age", "1d"})).err, HasSubstr("4 reused"));
  EXPECT_EQ(session.run(words({"--max-age", "soon"})).exit.code, 1);
}

TEST_F(ResumeTest, ASearchEndsWithItsReasonAndGoesOnWhereItWasInterrupted) {
  session.write("model.json", kHalfASecond);
  const Said typo = session.run(words({"--search", "tpo", "--optimize", "token_per_s"}));
  EXPECT_EQ(typo.exit.code, 1);
  EXPECT_THAT(typo.err, HasSubstr("--search: unknown search 'tpo'"));
  EXPECT_THAT(typo.err, HasSubstr("--optimize: unknown metric 'token_per_s'"));
  Session::Running running =
      session.start(words({"--search", "tpe", "--max-points", "4", "--optimize", "tokens_per_s"}));
  ASSERT_TRUE(wait_for(1));
  running.signal(SIGINT);
  EXPECT_EQ(running.wait().exit.code, 130);
  const Said resumed = session.run({"resume"});
  EXPECT_EQ(resumed.exit.code, 0) << resumed.err;
  EXPECT_THAT(resumed.err, HasSubstr("plan: search tpe, at most 4 points"));
  EXPECT_THAT(resumed.err, HasSubstr("search ended: count, "));
  EXPECT_THAT(session.run({"show", "--simulated"}).out, HasSubstr("ended: count, "));
  EXPECT_EQ(runs().as_array()[0].at("measured").as_int(), 4);
}

}  // namespace
}  // namespace tunebench::integration
