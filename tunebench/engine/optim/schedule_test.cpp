#include "tunebench/engine/optim/schedule.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tunebench/base/error.h"

namespace tunebench::engine {
namespace {

std::vector<double> rates(const Schedule& schedule) {
  std::vector<double> all;
  for (std::int64_t step = 0; step < schedule.total_steps; ++step) {
    all.push_back(schedule.rate(step));
  }
  return all;
}

void expect_rates(const Schedule& schedule, const std::vector<double>& wanted) {
  const std::vector<double> got = rates(schedule);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_NEAR(got[i], wanted[i], 5e-12) << "step " << i;
  }
}

// OPT-04
TEST(ScheduleTest, CosineWithOneWarmUpStepFollowsHuggingFace) {
  EXPECT_EQ(warmup_steps(0.03, 10), 1);
  expect_rates({.kind = "cosine", .peak = 1e-5, .total_steps = 10, .warmup_steps = 1},
               {0, 1e-5, 9.69846e-6, 8.83022e-6, 7.5e-6, 5.86824e-6, 4.13176e-6, 2.5e-6, 1.16978e-6,
                3.01537e-7});
}

// OPT-05
TEST(ScheduleTest, ARunOfWarmUpOnlyRisesToJustBelowThePeak) {
  expect_rates({.kind = "cosine", .peak = 1e-5, .total_steps = 10, .warmup_steps = 10},
               {0, 1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 6e-6, 7e-6, 8e-6, 9e-6});
}

// OPT-05
TEST(ScheduleTest, CosineWithoutWarmUpBeginsAtThePeak) {
  expect_rates({.kind = "cosine", .peak = 1e-5, .total_steps = 4},
               {1e-5, 8.53553e-6, 5e-6, 1.46447e-6});
}

// OPT-05
TEST(ScheduleTest, OneStepThatIsAllWarmUpHasRateZero) {
  expect_rates({.kind = "cosine", .peak = 1e-5, .total_steps = 1, .warmup_steps = 1}, {0});
}

TEST(ScheduleTest, LinearFallsToZeroAndConstantStays) {
  expect_rates({.kind = "linear", .peak = 1e-5, .total_steps = 6, .warmup_steps = 2},
               {0, 5e-6, 1e-5, 7.5e-6, 5e-6, 2.5e-6});
  expect_rates({.kind = "constant", .peak = 1e-5, .total_steps = 4, .warmup_steps = 2},
               {0, 5e-6, 1e-5, 1e-5});
}

TEST(ScheduleTest, IsFiniteAndNeverAboveThePeakWhateverTheNumbers) {
  for (const std::string kind : {"cosine", "linear", "constant"}) {
    for (std::int64_t total = 1; total < 12; ++total) {
      for (std::int64_t warmup = 0; warmup <= total + 2; ++warmup) {
        const Schedule schedule{kind, 1e-5, total, warmup};
        for (std::int64_t step = 0; step < total + 5; ++step) {
          const double rate = schedule.rate(step);
          EXPECT_TRUE(std::isfinite(rate) && rate >= 0 && rate <= 1e-5)
              << kind << " " << total << " " << warmup << " " << step;
        }
      }
    }
  }
}

TEST(ScheduleTest, RefusesAnUnknownKind) {
  try {
    static_cast<void>(Schedule{.kind = "cosin"}.rate(0));
    FAIL() << "accepted 'cosin'";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    EXPECT_EQ(error.message(),
              "learning-rate schedule 'cosin' is not known; choose cosine, linear or constant");
  }
}

// OPT-05
TEST(ScheduleTest, WarmUpRoundsUpAndItsRatioIsChecked) {
  EXPECT_EQ(warmup_steps(0.0, 7), 0);
  EXPECT_EQ(warmup_steps(0.5, 7), 4);
  EXPECT_EQ(warmup_steps(1.0, 7), 7);
  for (const double ratio : {-0.1, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_THROW(static_cast<void>(warmup_steps(ratio, 10)), Error);
  }
  try {
    static_cast<void>(warmup_steps(1.5, 10));
  } catch (const Error& error) {
    EXPECT_EQ(error.message(), "warmup_ratio must be between 0 and 1, not 1.5");
  }
}

}  // namespace
}  // namespace tunebench::engine
