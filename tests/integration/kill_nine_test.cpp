// The controller is killed at random moments: no finished record is lost, none is there twice, no
// process stays behind, and no run is said to go on.
#include <algorithm>
#include <csignal>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session.h"
#include "tunebench/base/random.h"

namespace tunebench::integration {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// Processes that still have the session's store in their environment: the controller's children.
std::set<std::string> processes_of(const Session& session) {
  const std::string mark = "TUNEBENCH_STORE=" + session.store().string();
  std::set<std::string> found;
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", gone)) {
    const std::string pid = entry.path().filename().string();
    if (pid.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    try {
      if (read_file(entry.path() / "environ").find(mark) != std::string::npos) {
        found.insert(pid);
      }
    } catch (const std::exception&) {  // it ended, or is another user's
    }
  }
  return found;
}

std::set<std::string> left_after(const Session& session, std::chrono::seconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::set<std::string> left = processes_of(session);
  while (!left.empty() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(10));
    left = processes_of(session);
  }
  return left;
}

/// Ids of the records that are ok; fails when two of them are of one point.
std::set<std::string> finished(Session& session) {
  std::set<std::string> ids;
  std::map<std::pair<std::int64_t, std::int64_t>, int> of_point;
  const Said said = session.run({"export", "--format", "json"});
  if (said.err.find("there are no results yet") != std::string::npos) {
    return ids;  // it was killed before its store was made
  }
  const Json rows = Json::parse(said.out, "export");
  for (const Json& row : rows.as_array()) {
    if (row.at("status").as_string() == "ok") {
      EXPECT_TRUE(ids.insert(row.at("id").as_string()).second);
      EXPECT_EQ(++of_point[std::pair(row.at("batch_size").as_int(), row.at("seed").as_int())], 1);
    }
  }
  return ids;
}

bool holds_all(const std::set<std::string>& ids, const std::set<std::string>& wanted) {
  return std::includes(ids.begin(), ids.end(), wanted.begin(), wanted.end());
}

TEST(KillNine, FiftyTimesAtRandomMomentsNothingIsLost) {
  Session session;
  std::set<std::string> known;
  std::int64_t seed = 1;
  int killed_while_it_ran = 0;
  const auto words = [&seed] {
    return std::vector<std::string>{"run",
                                    "-m",
                                    "tiny",
                                    "-l",
                                    "16",
                                    "-b",
                                    "1..6",
                                    "--max-steps",
                                    "3",
                                    "--repeats",
                                    "1",
                                    "--seed",
                                    std::to_string(seed)};
  };
  for (std::uint64_t kill = 0; kill < 50; ++kill) {
    Session::Running running = session.start(words());
    std::this_thread::sleep_for(milliseconds(static_cast<int>(1200.0 * uniform(7, kill, 0))));
    running.signal(SIGKILL);
    const Said said = running.wait();
    killed_while_it_ran += said.exit.signal == SIGKILL ? 1 : 0;
    seed += said.exit.signal == SIGKILL ? 0 : 1;  // that plan is done
    ASSERT_THAT(left_after(session, std::chrono::seconds(20)), IsEmpty());
    if (!std::filesystem::exists(session.store())) {
      continue;
    }
    const std::set<std::string> now = finished(session);
    ASSERT_TRUE(holds_all(now, known)) << "a finished record is lost after kill " << kill;
    known = now;
    ASSERT_THAT(session.run({"runs"}).out, Not(HasSubstr("running")));
  }
  EXPECT_GE(killed_while_it_ran, 25);
  EXPECT_GE(known.size(), 10U) << "hardly any record was finished before a kill";
  const Said last = session.run(words());
  EXPECT_EQ(last.exit.code, 0) << last.err;
  EXPECT_TRUE(holds_all(finished(session), known));
}

}  // namespace
}  // namespace tunebench::integration
