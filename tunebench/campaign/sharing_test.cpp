// Campaigns that share a store, each in a thread with a connection of its own.
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tunebench/base/files.h"
#include "tunebench/campaign/campaign.h"
#include "tunebench/campaign/internal/plan_of_batches.h"
#include "tunebench/trainer/simulated_trainer.h"

namespace tunebench::campaign {
namespace {

class Quiet : public Observer {
 public:
  std::function<void()> before = [] {};
  std::string run;
  void started(const store::Run& begun, std::int64_t, std::int64_t) override { run = begun.name; }
  void measuring(const Position&) override { before(); }
  void progress(const Position&, const measure::Progress&, double) override {}
  void measured(const Position&, const record::Record&, bool) override {}
};

class SharedStoreTest : public testing::Test {
 protected:
  static Plan plan(int points, std::int64_t repeats) {
    std::vector<int> batches(static_cast<std::size_t>(points));
    std::iota(batches.begin(), batches.end(), 1);
    return plan_of_batches(batches, {.count = repeats}, 5);
  }

  Result run(const Plan& wanted, Quiet& observer) const {
    test_support::FakeClock clock;
    measure::StopFlag stop;
    const auto store = store::open_store(location, store::OpenMode::Create);
    const auto trainer = trainer::make_simulated_trainer(
        trainer::parse_simulation(R"({"step":{"base_s":1}})", "model"), clock);
    return run_campaign(wanted,
                        {.store = *store,
                         .trainer = *trainer,
                         .clock = clock,
                         .stop = stop,
                         .log_folder = folder.path() / "logs",
                         .command = "tunebench run",
                         .store_location = location},
                        observer);
  }

  TemporaryFolder folder;
  std::string location = (folder.path() / "store.db").string();
};

TEST_F(SharedStoreTest, EachPointIsMeasuredAsOftenAsWantedByAllTogether) {
  static_cast<void>(store::open_store(location, store::OpenMode::Create));
  std::vector<std::thread> threads;
  std::array<Result, 4> results;
  for (Result& result : results) {
    threads.emplace_back([this, &result] {
      Quiet quiet;
      result = run(plan(20, 2), quiet);
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  std::int64_t measured = 0;
  for (const Result& result : results) {
    measured += result.measured;
    EXPECT_EQ(result.measured + result.reused, 40);
    EXPECT_EQ(result.valid_points, 20);
  }
  EXPECT_EQ(measured, 40);
  std::map<std::string, int> counts;
  const auto store = store::open_store(location, store::OpenMode::ReadOnly);
  for (const record::Record& record : store->all_records()) {
    ++counts[record.key];
  }
  for (const auto& [key, count] : counts) {
    EXPECT_EQ(count, 2) << key;
  }
}

TEST_F(SharedStoreTest, GoesOnAfterItWasTakenForDead) {
  Quiet quiet;
  int calls = 0;
  quiet.before = [&] {
    if (++calls == 2) {  // as another host does when this one slept
      store::open_store(location, store::OpenMode::Existing)->end_run(quiet.run, "interrupted");
    }
  };
  const Result result = run(plan(4, 1), quiet);
  EXPECT_EQ(result.measured, 4);
  EXPECT_FALSE(result.interrupted);
  const auto store = store::open_store(location, store::OpenMode::ReadOnly);
  EXPECT_EQ(store->find_run(result.run).status, "finished");
  EXPECT_EQ(store->records_of(result.run).size(), 4U);
}

TEST_F(SharedStoreTest, FreshNumbersAreNotThoseOfOthers) {
  Quiet quiet;
  run(plan(3, 1), quiet);
  Plan fresh = plan(3, 1);
  fresh.fresh = true;
  const Result result = run(fresh, quiet);
  EXPECT_EQ(result.measured, 3);
  EXPECT_EQ(result.reused, 0);
}

}  // namespace
}  // namespace tunebench::campaign
