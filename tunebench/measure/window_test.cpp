#include "tunebench/measure/window.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

namespace tunebench::measure {
namespace {

constexpr std::int64_t kMs = 1'000'000;

/// Feeds steps back to back, with one millisecond between them.
class Steps {
 public:
  explicit Steps(Window& window) : window_(window) {}

  void add(std::int64_t duration_ns, std::int64_t tokens = 100) {
    trainer::StepEvent step;
    step.n = ++n_;
    step.t0 = now_;
    step.t1 = now_ + duration_ns;
    step.samples = 1;
    step.tokens = tokens;
    step.tokens_nonpad = tokens - 10;
    step.tokens_trained = tokens - 20;
    now_ = step.t1 + kMs;
    window_.add(step);
  }
  void add_many(int count, std::int64_t duration_ns) {
    for (int i = 0; i < count; ++i) {
      add(duration_ns);
    }
  }

 private:
  Window& window_;
  std::int64_t n_ = 0;
  std::int64_t now_ = 5'000'000'000;
};

double total_s(const std::vector<StepCounts>& steps) {
  return std::accumulate(steps.begin(), steps.end(), 0.0,
                         [](double sum, const StepCounts& step) { return sum + step.seconds(); });
}

TEST(WindowTest, IsSteadyAfterTenEqualSteps) {
  Window window(Protocol{}, false);
  Steps steps(window);
  steps.add_many(9, 100 * kMs);
  EXPECT_TRUE(window.warming_up());
  steps.add(100 * kMs);
  EXPECT_FALSE(window.warming_up());
  steps.add_many(10, 100 * kMs);
  const Window::Result result = window.result();
  EXPECT_EQ(result.warmup, Warmup::Steady);
  EXPECT_EQ(result.warmup_steps.size(), 10U);
  EXPECT_EQ(result.timed_steps.size(), 10U);
}

TEST(WindowTest, WaitsUntilAFallingStepTimeSettles) {
  Window window(Protocol{}, false);
  Steps steps(window);
  for (const std::int64_t ms : {200, 180, 160, 150, 140, 120, 115, 110, 105, 104}) {
    steps.add(ms * kMs);
  }
  EXPECT_TRUE(window.warming_up());
  steps.add_many(7, 100 * kMs);
  EXPECT_TRUE(window.warming_up());
  // The last five steps take 100 ms, the five before have a median of 100 ms too.
  steps.add(100 * kMs);
  EXPECT_FALSE(window.warming_up());
}

TEST(WindowTest, TakesStepsWithinTwoPercentAsSteadyAndBeyondAsNot) {
  for (const auto& [second_us, warming] :
       {std::pair{98'100, false}, {101'900, false}, {97'900, true}, {102'100, true}}) {
    Window window(Protocol{}, false);
    Steps steps(window);
    steps.add_many(5, 100 * kMs);
    steps.add_many(5, second_us * 1000L);
    EXPECT_EQ(window.warming_up(), warming) << second_us;
  }
}

TEST(WindowTest, ComparesTimePerTokenSoThatUnequalBatchesCanSettle) {
  Window window(Protocol{}, false);
  Steps steps(window);
  for (const std::int64_t tokens : {100, 300, 200, 50, 400, 90, 310, 120, 500, 60}) {
    steps.add(tokens * kMs, tokens);
  }
  EXPECT_FALSE(window.warming_up());
}

TEST(WindowTest, IsCappedAfterFiftyUnsteadySteps) {
  Window window(Protocol{}, false);
  Steps steps(window);
  for (int i = 0; i < 50; ++i) {
    EXPECT_TRUE(window.warming_up()) << i;
    steps.add(static_cast<std::int64_t>(1000 * std::pow(0.95, i) * 1e6));
  }
  EXPECT_FALSE(window.warming_up());
  steps.add_many(20, 100 * kMs);
  EXPECT_EQ(window.result().warmup, Warmup::Capped);
  EXPECT_EQ(window.result().warmup_steps.size(), 50U);
}

TEST(WindowTest, IsCappedAfterAMinuteButNotBeforeThreeSteps) {
  Window window(Protocol{}, false);
  Steps steps(window);
  steps.add_many(2, 40'000 * kMs);
  EXPECT_TRUE(window.warming_up());
  steps.add(40'000 * kMs);
  EXPECT_FALSE(window.warming_up());
  steps.add_many(5, 40'000 * kMs);
  EXPECT_EQ(window.result().warmup, Warmup::Capped);
  EXPECT_EQ(window.result().warmup_steps.size(), 3U);
}

TEST(WindowTest, IsCompleteAfterTwentyStepsAndFiveSeconds) {
  Window slow(Protocol{}, false);
  Steps slow_steps(slow);
  slow_steps.add_many(29, 1000 * kMs);
  EXPECT_FALSE(slow.complete());
  slow_steps.add(1000 * kMs);
  EXPECT_TRUE(slow.complete());
  EXPECT_EQ(slow.timed_steps(), 20);

  Window fast(Protocol{}, false);
  Steps fast_steps(fast);
  fast_steps.add_many(10 + 49, 100 * kMs);
  EXPECT_FALSE(fast.complete());
  fast_steps.add(100 * kMs);
  EXPECT_TRUE(fast.complete());
  EXPECT_EQ(fast.timed_steps(), 50);
  EXPECT_DOUBLE_EQ(fast.timed_s(), 5.0);
}

TEST(WindowTest, LeavesOutStepsThatComeAfterItIsComplete) {
  Window window(Protocol{}, false);
  Steps steps(window);
  steps.add_many(30, 1000 * kMs);
  steps.add_many(3, 9000 * kMs);
  EXPECT_EQ(window.steps(), 33);
  EXPECT_EQ(window.timed_steps(), 20);
  EXPECT_EQ(window.result().timed_steps.size(), 20U);
  EXPECT_DOUBLE_EQ(total_s(window.result().timed_steps), 20.0);
}

TEST(WindowTest, NeverCompletesWhenThePointBoundsItsOwnLength) {
  Window window(Protocol{}, true);
  Steps steps(window);
  steps.add_many(500, 1000 * kMs);
  EXPECT_FALSE(window.complete());
  EXPECT_EQ(window.result().timed_steps.size(), 490U);
}

TEST(WindowTest, LeavesOutAtMostThreeStepsOfAShortRun) {
  struct Case {
    int steps;
    Warmup warmup;
    std::size_t left_out;
  };
  for (const Case& one : {Case{1, Warmup::None, 0},
                          {2, Warmup::Short, 1},
                          {3, Warmup::Short, 2},
                          {4, Warmup::Short, 3},
                          {9, Warmup::Short, 3},
                          {14, Warmup::Short, 3},
                          {15, Warmup::Steady, 10}}) {
    Window window(Protocol{}, true);
    Steps steps(window);
    steps.add_many(one.steps, 100 * kMs);
    const Window::Result result = window.result();
    EXPECT_EQ(result.warmup, one.warmup) << one.steps;
    EXPECT_EQ(result.warmup_steps.size(), one.left_out) << one.steps;
    EXPECT_EQ(result.timed_steps.size(), static_cast<std::size_t>(one.steps) - one.left_out);
    // A rate times its time is what was counted, whatever the window.
    EXPECT_GT(total_s(result.timed_steps), 0.0);
  }
}

TEST(WindowTest, IsEmptyWithoutSteps) {
  const Window window(Protocol{}, false);
  EXPECT_TRUE(window.result().timed_steps.empty());
  EXPECT_TRUE(window.result().warmup_steps.empty());
  EXPECT_EQ(window.timed_s(), 0.0);
}

TEST(BoundsOwnLengthTest, IsTrueForEachInputThatSaysHowLong) {
  const auto bounded = [](experiment::Inputs inputs) {
    return bounds_own_length({.experiment = "e", .inputs = std::move(inputs)});
  };
  EXPECT_FALSE(bounded({}));
  EXPECT_FALSE(
      bounded({{"max_steps", -1}, {"num_train_epochs", 1.0}, {"stop_after_seconds", -1.0}}));
  EXPECT_TRUE(bounded({{"max_steps", 1}}));
  EXPECT_TRUE(bounded({{"num_train_epochs", 2}}));
  EXPECT_TRUE(bounded({{"stop_after_seconds", 0}}));
}

TEST(WarmupTest, HasNamesThatStayAsTheyAreStored) {
  EXPECT_EQ(warmup_name(Warmup::Steady), "steady");
  EXPECT_EQ(warmup_name(Warmup::Capped), "capped");
  EXPECT_EQ(warmup_name(Warmup::Short), "short");
  EXPECT_EQ(warmup_name(Warmup::None), "none");
}

}  // namespace
}  // namespace tunebench::measure
