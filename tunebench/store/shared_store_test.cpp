// What several processes and hosts share: leases, claims, requests to stop.
#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/store/heartbeat.h"
#include "tunebench/store/internal/test_backend.h"
#include "tunebench/store/store.h"

namespace tunebench::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::chrono_literals;

class SharedStoreTest : public BackendTest {
 protected:
  /// A run that a process has begun that is gone now.
  std::string dead_run(const std::function<void(Store&, const std::string&)>& body =
                           [](Store&, const std::string&) {}) const {
    const pid_t child = start_child([&] {
      const std::unique_ptr<Store> store = open_store(location(), OpenMode::Create);
      body(*store, store->begin_run(new_run("killed")).name);
    });
    EXPECT_EQ(wait_for(child), 0);
    return open_store(location(), OpenMode::ReadOnly)->find_run("@last").name;
  }
};

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

TEST_P(SharedStoreTest, ABeatRenewsTheLease) {
  const std::string run = store_->begin_run(new_run()).name;
  EXPECT_EQ(store_->find_run(run).heartbeat, 0) << "begins with the first beat";
  EXPECT_EQ(store_->heartbeat(run), Beat::Going);
  const std::int64_t until = store_->find_run(run).heartbeat;
  EXPECT_NEAR(static_cast<double>(until), static_cast<double>(time(nullptr) + kLease.count()), 3);
}

TEST_P(SharedStoreTest, ARunOfAnotherHostIsDeadWhenItsLeaseIsOver) {
  const std::string run = store_->begin_run(new_run()).name;
  store_->heartbeat(run);
  execute("UPDATE run SET host = 'elsewhere'");
  EXPECT_THAT(store_->mark_dead_runs(), IsEmpty());
  execute("UPDATE run SET heartbeat = " + in_seconds(-1));
  ASSERT_EQ(store_->mark_dead_runs().size(), 1U);
  EXPECT_EQ(store_->find_run(run).status, "interrupted");
}

TEST_P(SharedStoreTest, AnotherHostOfTheSameNameIsNotThisOne) {
  const std::string run = store_->begin_run(new_run()).name;
  store_->heartbeat(run);
  execute("UPDATE run SET process_start = 'another boot:1', pid = 999999999");
  EXPECT_THAT(store_->mark_dead_runs(), IsEmpty()) << "its lease is not over";
  execute("UPDATE run SET heartbeat = 1");
  EXPECT_EQ(store_->mark_dead_runs().size(), 1U);
}

TEST_P(SharedStoreTest, AProcessThatIsAliveButLateHasAnotherLease) {
  const std::string run = store_->begin_run(new_run()).name;
  store_->heartbeat(run);
  execute("UPDATE run SET heartbeat = " + in_seconds(-5));
  EXPECT_THAT(store_->mark_dead_runs(), IsEmpty());
  execute("UPDATE run SET heartbeat = " + in_seconds(-31));
  EXPECT_EQ(store_->mark_dead_runs().size(), 1U);
  EXPECT_EQ(store_->heartbeat(run), Beat::Lost) << "and learns that it was marked";
}

TEST_P(SharedStoreTest, BeatsOfOthersAreLost) {
  const std::string run = dead_run();
  EXPECT_EQ(store_->heartbeat(run), Beat::Lost);
  EXPECT_EQ(store_->heartbeat("nobody"), Beat::Lost);
}

TEST_P(SharedStoreTest, StopsRunsFromOutside) {
  const std::string run = store_->begin_run(new_run()).name;
  EXPECT_FALSE(store_->stop_requested(run));
  open_store(location(), OpenMode::Existing)->request_stop(run);
  EXPECT_TRUE(store_->stop_requested(run));
  EXPECT_EQ(store_->heartbeat(run), Beat::StopRequested);
  store_->end_run(run, "interrupted", R"({"reason":"asked"})");
  EXPECT_EQ(error_of([&] { store_->request_stop(run); }), run + " is not running: interrupted");
  EXPECT_EQ(store_->find_run(run).stop_reason, R"({"reason":"asked"})");
}

TEST_P(SharedStoreTest, ResumesDeadAndEndedRuns) {
  const std::string run = dead_run();
  const store::Run resumed = store_->resume_run("@last");
  EXPECT_EQ(resumed.name, run);
  EXPECT_EQ(resumed.pid, getpid());
  EXPECT_EQ(resumed.status, "running");
  EXPECT_EQ(store_->heartbeat(run), Beat::Going);
  store_->end_run(run, "finished", "{}");
  const store::Run again = store_->resume_run(run);
  EXPECT_EQ(again.status, "running");
  EXPECT_EQ(again.ended_at, "");
  EXPECT_EQ(again.stop_reason, "");
}

TEST_P(SharedStoreTest, RefusesToResumeWhatIsAliveElsewhereOrImported) {
  const std::string run = store_->begin_run(new_run()).name;
  store_->heartbeat(run);
  execute("UPDATE run SET host = 'elsewhere', pid = 7");
  EXPECT_EQ(error_of([&] { store_->resume_run(run); }),
            run + " is running in another process: 7 on elsewhere");
  EXPECT_EQ(error_of([&] { store_->end_run(run, "finished"); }),
            run + " is running in another process: 7 on elsewhere");
  const std::string import = store_->begin_run(new_run("import x.csv")).name;
  store_->end_run(import, "imported");
  EXPECT_EQ(error_of([&] { store_->resume_run(import); }),
            import + " was imported; there is nothing to go on with");
}

TEST_P(SharedStoreTest, OneRunHoldsAKey) {
  const std::string first = store_->begin_run(new_run()).name;
  const std::string second = store_->begin_run(new_run()).name;
  EXPECT_TRUE(store_->claim(first, "k").claimed);
  EXPECT_TRUE(store_->claim(first, "k").claimed) << "again by its holder";
  const Claim held = store_->claim(second, "k");
  EXPECT_FALSE(held.claimed);
  EXPECT_EQ(held.run, first);
  EXPECT_EQ(held.host, store_->find_run(first).host);
  EXPECT_GT(held.until, time(nullptr));
  EXPECT_TRUE(store_->claim(second, "other").claimed);
  store_->release(first, "k");
  EXPECT_TRUE(store_->claim(second, "k").claimed);
  store_->release(first, "k");
  EXPECT_FALSE(store_->claim(first, "k").claimed) << "a key is released by its holder only";
}

TEST_P(SharedStoreTest, AppendingReleasesTheKey) {
  const std::string first = store_->begin_run(new_run()).name;
  const std::string second = store_->begin_run(new_run()).name;
  ASSERT_TRUE(store_->claim(first, "k").claimed);
  store_->append(sample_record(second, "k"));
  EXPECT_FALSE(store_->claim(second, "k").claimed) << "the record of another run changes nothing";
  store_->append(sample_record(first, "k"));
  EXPECT_TRUE(store_->claim(second, "k").claimed);
}

TEST_P(SharedStoreTest, EndedDeadAndLapsedHoldersLoseTheirKeys) {
  const std::string mine = store_->begin_run(new_run()).name;
  const std::string ended = store_->begin_run(new_run()).name;
  ASSERT_TRUE(store_->claim(ended, "a").claimed);
  store_->end_run(ended, "finished");
  EXPECT_TRUE(store_->claim(mine, "a").claimed);
  dead_run(
      [](Store& store, const std::string& run) { EXPECT_TRUE(store.claim(run, "b").claimed); });
  EXPECT_TRUE(store_->claim(mine, "b").claimed);
  const std::string other = store_->begin_run(new_run()).name;
  ASSERT_TRUE(store_->claim(other, "c").claimed);
  execute("UPDATE claim SET until = " + in_seconds(0) + " WHERE key = 'c'");
  EXPECT_TRUE(store_->claim(mine, "c").claimed);
}

TEST_P(SharedStoreTest, BeatsRenewClaims) {
  const std::string mine = store_->begin_run(new_run()).name;
  const std::string other = store_->begin_run(new_run()).name;
  ASSERT_TRUE(store_->claim(other, "k").claimed);
  execute("UPDATE claim SET until = " + in_seconds(1));
  store_->heartbeat(other);
  EXPECT_GT(store_->claim(mine, "k").until, time(nullptr) + 20);
}

TEST_P(SharedStoreTest, ARunThatWasTakenForDeadCannotClaim) {
  const std::string run = store_->begin_run(new_run()).name;
  execute("UPDATE run SET heartbeat = 1");
  store_->mark_dead_runs();
  EXPECT_EQ(error_of([&] { store_->claim(run, "k"); }),
            run + " no longer runs in this process: interrupted");
  EXPECT_EQ(error_of([&] { store_->claim("nobody", "k"); }), "no run is named 'nobody'");
}

/// Waits for what another thread brings about.
bool comes_true(const std::function<bool()>& condition) {
  for (int i = 0; i < 1000 && !condition(); ++i) {
    std::this_thread::sleep_for(10ms);
  }
  return condition();
}

TEST_P(SharedStoreTest, HeartbeatKeepsARunAliveAndHearsStops) {
  const std::string run = store_->begin_run(new_run()).name;
  const Heartbeat heartbeat(location(), run, 20ms);
  EXPECT_TRUE(comes_true([&] { return heartbeat.beats() >= 2; }));
  EXPECT_GT(store_->find_run(run).heartbeat, 0);
  EXPECT_FALSE(heartbeat.stop_requested());
  store_->request_stop(run);
  EXPECT_TRUE(comes_true([&] { return heartbeat.stop_requested(); }));
  EXPECT_FALSE(heartbeat.lost());
  store_->end_run(run, "finished");
  EXPECT_TRUE(comes_true([&] { return heartbeat.lost(); }));
}

TEST_P(SharedStoreTest, HeartbeatSurvivesAStoreThatIsAwayForAWhile) {
  if (GetParam() != Backend::Sqlite) {
    GTEST_SKIP() << "postgres_test.cpp has this of a server";
  }
  const std::string run = store_->begin_run(new_run()).name;
  store_.reset();
  std::filesystem::rename(location(), location() + ".away");
  const Heartbeat heartbeat(location(), run, 20ms);
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(heartbeat.beats(), 0);
  EXPECT_FALSE(std::filesystem::exists(location())) << "makes no store of its own";
  std::filesystem::rename(location() + ".away", location());
  EXPECT_TRUE(comes_true([&] { return heartbeat.beats() >= 1; }));
  EXPECT_FALSE(heartbeat.lost());
}

TEST_P(SharedStoreTest, HeartbeatEndsSoonInALockedStore) {
  const std::string run = store_->begin_run(new_run()).name;
  connection()->transaction([&] {
    const auto begin = std::chrono::steady_clock::now();
    { const Heartbeat heartbeat(location(), run, 20ms); }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
  });
}

TB_ON_BOTH_BACKENDS(SharedStoreTest);

}  // namespace
}  // namespace tunebench::store
