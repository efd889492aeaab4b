#include "tunebench/base/thread_pool.h"

#include <atomic>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "tunebench/base/error.h"

namespace tunebench {
namespace {

std::size_t at(int thread) {
  return static_cast<std::size_t>(thread);
}

TEST(ThreadPoolTest, RunsTheBodyOnceOnEachThread) {
  ThreadPool pool(4);
  std::vector<int> runs(4);
  std::vector<std::thread::id> ids(4);
  pool.run([&](int thread) {
    ++runs[at(thread)];
    ids[at(thread)] = std::this_thread::get_id();
  });
  EXPECT_EQ(runs, (std::vector<int>{1, 1, 1, 1}));
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 4U);
}

TEST(ThreadPoolTest, OneThreadIsTheCaller) {
  ThreadPool pool(1);
  EXPECT_EQ(pool.size(), 1);
  std::thread::id id;
  pool.run([&](int) { id = std::this_thread::get_id(); });
  EXPECT_EQ(id, std::this_thread::get_id());
}

TEST(ThreadPoolTest, ByDefaultUsesTheCoresThatItMay) {
  EXPECT_EQ(ThreadPool().size(), usable_cores());
}

TEST(ThreadPoolTest, EachRegionSeesWhatTheOneBeforeWrote) {
  ThreadPool pool(3);
  std::vector<std::int64_t> values(3, 1);
  for (int region = 0; region < 300; ++region) {
    std::vector<std::int64_t> next(3);
    pool.run([&](int thread) { next[at(thread)] = values[at((thread + 1) % 3)] + 1; });
    values = next;
  }
  EXPECT_EQ(values, (std::vector<std::int64_t>{301, 301, 301}));
}

TEST(ThreadPoolTest, RangesCoverEverythingOnceInPiecesOfWholeGrains) {
  for (const int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    for (const std::int64_t count : {0, 1, 7, 8, 9, 100}) {
      std::vector<int> seen(static_cast<std::size_t>(count));
      pool.for_range(count, 8, [&](std::int64_t begin, std::int64_t end, int) {
        EXPECT_EQ(begin % 8, 0);
        EXPECT_TRUE(end % 8 == 0 || end == count);
        for (std::int64_t i = begin; i < end; ++i) {
          ++seen[static_cast<std::size_t>(i)];
        }
      });
      EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(count), 1))
          << threads << " threads, " << count;
    }
  }
}

TEST(ThreadPoolTest, ARangeNearTheLargestNumberDoesNotOverflow) {
  ThreadPool pool(3);
  constexpr std::int64_t kCount = std::numeric_limits<std::int64_t>::max() - 1;
  std::vector<std::int64_t> lengths(3);
  pool.for_range(kCount, 1000, [&](std::int64_t begin, std::int64_t end, int thread) {
    lengths[at(thread)] = end - begin;
  });
  EXPECT_EQ(lengths[0] + lengths[1] + lengths[2], kCount);
}

TEST(ThreadPoolTest, ManyMoreThreadsThanWorkLeaveTheRestIdle) {
  ThreadPool pool(8);
  std::atomic<int> calls = 0;
  pool.for_range(3, 1, [&](std::int64_t begin, std::int64_t end, int) {
    EXPECT_EQ(end - begin, 1);
    ++calls;
  });
  EXPECT_EQ(calls, 3);
}

TEST(ThreadPoolTest, EachTaskIsHandedOutOnce) {
  ThreadPool pool(3);
  for (int repeat = 0; repeat < 3; ++repeat) {
    std::vector<std::atomic<int>> seen(1000);
    pool.for_each_task(1000, [&](std::int64_t task, int thread) {
      EXPECT_LT(thread, 3);
      ++seen[static_cast<std::size_t>(task)];
    });
    for (const std::atomic<int>& count : seen) {
      ASSERT_EQ(count, 1);
    }
  }
}

TEST(ThreadPoolTest, AnExceptionOfAWorkerReachesTheCallerAndThePoolLivesOn) {
  ThreadPool pool(3);
  for (const int thrower : {0, 2}) {
    std::atomic<int> finished = 0;
    try {
      pool.run([&](int thread) {
        if (thread == thrower) {
          throw Error(ErrorCode::OutOfMemory, "too large");
        }
        ++finished;
      });
      FAIL() << "nothing was thrown";
    } catch (const Error& error) {
      EXPECT_EQ(error.message(), "too large");
    }
    EXPECT_EQ(finished, 2) << "the others are waited for";
  }
  std::atomic<int> runs = 0;
  EXPECT_NO_THROW(pool.run([&](int) { ++runs; }));
  EXPECT_EQ(runs, 3);
}

TEST(ThreadPoolTest, NestedRegionsAreRefused) {
  for (const int threads : {1, 2}) {
    ThreadPool pool(threads);
    EXPECT_THROW(pool.run([&](int thread) {
      if (thread == 0) {
        pool.run([](int) {});
      }
    }),
                 Error);
    EXPECT_NO_THROW(pool.run([](int) {}));
  }
}

double half_of_the_smallest_normal() {
  volatile double smallest = std::numeric_limits<double>::min();
  volatile double half = smallest / 2;
  return half;
}

TEST(ThreadPoolTest, WorkersFlushDenormals) {
  ThreadPool pool(2);
  std::vector<double> halves(2);
  pool.run([&](int thread) { halves[at(thread)] = half_of_the_smallest_normal(); });
  EXPECT_NE(halves[0], 0.0) << "the caller's own setting is left alone";
  EXPECT_EQ(halves[1], 0.0);
}

TEST(ThreadPoolTest, TheCallerCanFlushDenormalsToo) {
  double half = 1;
  std::thread([&] {
    flush_denormals_in_this_thread();
    half = half_of_the_smallest_normal();
  }).join();
  EXPECT_EQ(half, 0.0);
}

TEST(UsableCoresTest, KeepsToTheAffinityMask) {
  int cores = 0;
  std::thread([&] {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (std::size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i) {
      if (CPU_ISSET(i, &all)) {
        CPU_SET(i, &one);
      }
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    cores = usable_cores();
  }).join();
  EXPECT_EQ(cores, 1);
}

}  // namespace
}  // namespace tunebench
