// Several processes with one plan and one store share the points: each is measured as often as was
// asked, whoever of them is killed.
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "session.h"
#include "tunebench/base/random.h"

namespace tunebench::integration {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr const char* kNoWaiting = R"({"time_scale":0,"step":{"base_s":0.1}})";

/// The session's own file, and a PostgreSQL database when there is one for tests.
std::vector<std::string> stores(const Session& session) {
  std::vector<std::string> found{session.store().string()};
  if (const char* url = std::getenv("TB_POSTGRES_URL"); url != nullptr && *url != '\0') {
    found.emplace_back(url);
  }
  return found;
}

class SharingTest : public testing::Test {
 protected:
  std::vector<std::string> words(const std::string& store, const std::string& batches,
                                 const std::string& repeats) {
    return {"run", "-m", "tiny", "-l", "16", "-b", batches, "--repeats", repeats, "--trainer",
            "simulated", "--simulation", model,
            // A database may hold what earlier tests left there.
            "--seed", seed, "--max-steps", "3", "--store", store};
  }

  /// A database may hold anything that other tests left there, imported rows without a seed too.
  [[nodiscard]] bool is_of_this_test(const Json& row) const {
    return row.at("status").as_string() == "ok" && row.at("seed").dump() == seed;
  }

  /// Valid measurements of this test by batch size.
  std::map<std::int64_t, int> measured(const std::string& store) {
    std::map<std::int64_t, int> counts;
    const Said said = session.run({"export", "--json", "--simulated", "--store", store});
    const Json rows = Json::parse(said.out, "export");
    for (const Json& row : rows.as_array()) {
      if (is_of_this_test(row)) {
        ++counts[row.at("batch_size").as_int()];
      }
    }
    return counts;
  }

  /// Of the runs of this test.
  std::map<std::string, int> statuses(const std::string& store) {
    std::map<std::string, int> counts;
    const Said said = session.run({"runs", "--json", "--simulated", "--store", store});
    const Json rows = said.exit.code == 0 ? Json::parse(said.out, "runs") : Json::array();
    for (const Json& row : rows.as_array()) {
      if (row.at("command").as_string().find("--seed " + seed + " ") != std::string::npos) {
        ++counts[row.at("status").as_string()];
      }
    }
    return counts;
  }

  bool wait_for(const std::string& store, std::size_t points) {
    for (int look = 0; look < 1200; ++look) {
      if (std::filesystem::exists(session.store()) && measured(store).size() >= points) {
        return true;
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
    return false;
  }

  bool wait_for_runs(const std::string& store, int count) {
    for (int look = 0; look < 1200; ++look) {
      int begun = 0;
      for (const auto& [status, runs] : statuses(store)) {
        begun += runs;
      }
      if (begun >= count) {
        return true;
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
    return false;
  }

  Session session;
  std::string model = session.write("model.json", kNoWaiting);
  /// A database may hold what other tests and processes left there.
  static std::string next_seed() {
    static int tests = 0;
    return std::to_string(::getpid() * 16 + ++tests);
  }
  std::string seed = next_seed();
};

TEST_F(SharingTest, EightProcessesMeasureEachPointOnceThoughTwoAreKilled) {
  for (const std::string& store : stores(session)) {
    std::vector<Session::Running> running;
    for (int process = 0; process < 8; ++process) {
      running.push_back(session.start(words(store, "1..200", "1")));
    }
    ASSERT_TRUE(wait_for_runs(store, 8));
    running[2].signal(SIGKILL);
    running[5].signal(SIGKILL);
    std::map<int, int> exits;
    int killed = 0;
    for (Session::Running& one : running) {
      const Said said = one.wait(std::chrono::seconds(240));
      killed += said.exit.signal == SIGKILL ? 1 : 0;
      exits[said.exit.code] += said.exit.signal == 0 ? 1 : 0;
      EXPECT_TRUE(said.exit.code == 0) << said.err;
    }
    EXPECT_EQ(killed, 2) << "both were done before they were killed";
    const std::map<std::int64_t, int> counts = measured(store);
    EXPECT_EQ(counts.size(), 200U) << store;
    for (const auto& [batch, count] : counts) {
      EXPECT_EQ(count, 1) << "batch " << batch << " in " << store;
    }
    EXPECT_EQ(statuses(store), (std::map<std::string, int>{{"finished", 6}, {"interrupted", 2}}));
  }
}

TEST_F(SharingTest, RepeatsAreSharedToo) {
  for (const std::string& store : stores(session)) {
    std::vector<Session::Running> running;
    for (int process = 0; process < 4; ++process) {
      running.push_back(session.start(words(store, "1..8", "3")));
    }
    for (Session::Running& one : running) {
      const Said said = one.wait();
      EXPECT_EQ(said.exit.code, 0) << said.err;
    }
    for (const auto& [batch, count] : measured(store)) {
      EXPECT_EQ(count, 3) << "batch " << batch << " in " << store;
    }
  }
}

TEST_F(SharingTest, WaitsForWhatAnotherHoldsAndTakesOverWhatADeadOneLeaves) {
  session.write("model.json", R"({"step":{"base_s":0.1}})");
  const std::string store = session.store().string();
  std::vector<std::string> long_words = words(store, "1,2", "1");
  long_words[16] = "3000";  // --max-steps: minutes
  Session::Running holder = session.start(long_words);
  ASSERT_TRUE([&] {
    for (int look = 0; look < 600; ++look) {
      const Said said = session.run({"runs", "--json", "--simulated", "--store", store});
      if (said.exit.code == 0 && Json::parse(said.out, "runs").as_array().size() == 1) {
        return true;
      }
      std::this_thread::sleep_for(milliseconds(50));
    }
    return false;
  }());
  std::this_thread::sleep_for(milliseconds(1500));
  std::vector<std::string> one = long_words;
  one[6] = "1";  // only what the other measures now
  Session::Running waiter = session.start(one);
  std::this_thread::sleep_for(milliseconds(2500));
  holder.signal(SIGKILL);
  const Said dead = holder.wait();
  EXPECT_EQ(dead.exit.signal, SIGKILL);
  std::this_thread::sleep_for(milliseconds(1500));
  waiter.signal(SIGINT);
  const Said said = waiter.wait();
  EXPECT_EQ(said.exit.code, 130);
  EXPECT_THAT(said.err, HasSubstr("waiting for 1 point of "));
  EXPECT_THAT(said.err, HasSubstr("1/1  started"));
}

TEST_F(SharingTest, FiftyKillsOfRandomProcessesLoseAndDoubleNothing) {
  for (const std::string& store : stores(session)) {
    std::vector<Session::Running> running;
    int plan = 0;
    const auto start = [&] {
      std::vector<std::string> one = words(store, "1..60", "1");
      one.insert(one.end(), {"--learning-rate", "1e-" + std::to_string(3 + plan)});
      return session.start(one);
    };
    for (int process = 0; process < 3; ++process) {
      running.push_back(start());
    }
    int killed = 0;
    for (std::uint64_t kill = 0; kill < 50; ++kill) {
      std::this_thread::sleep_for(milliseconds(static_cast<int>(300.0 * uniform(11, kill, 0))));
      Session::Running& victim =
          running[static_cast<std::size_t>(3.0 * uniform(11, kill, 1)) % running.size()];
      victim.signal(SIGKILL);
      const Said said = victim.wait();
      killed += said.exit.signal == SIGKILL ? 1 : 0;
      plan += said.exit.signal == SIGKILL ? 0 : 1;  // the one before is done
      victim = start();
    }
    EXPECT_GE(killed, 25);
    for (Session::Running& one : running) {
      EXPECT_EQ(one.wait().exit.code, 0);
    }
    std::map<std::string, int> of_point;
    const Said all = session.run({"export", "--json", "--simulated", "--store", store});
    std::map<std::string, int> of_plan;
    const Json rows = Json::parse(all.out, "export");
    for (const Json& row : rows.as_array()) {
      if (is_of_this_test(row)) {
        const std::string rate = row.at("learning_rate").dump();
        ++of_plan[rate];
        EXPECT_EQ(++of_point[rate + " " + row.at("batch_size").dump()], 1);
      }
    }
    // Whoever is killed, the plan that was begun last is finished by those that live.
    EXPECT_EQ(of_plan[Json(std::pow(10.0, -3 - plan)).dump()], 60) << store;
    EXPECT_FALSE(statuses(store).contains("running")) << store;
  }
}

}  // namespace
}  // namespace tunebench::integration
