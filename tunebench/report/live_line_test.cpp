#include "tunebench/report/live_line.h"

#include <gtest/gtest.h>

#include "tunebench/base/text.h"

namespace tunebench::report {
namespace {

LiveState sample_state() {
  return {.number = 7,
          .total = 12,
          .point = "length=1024 batch=4",
          .round = 2,
          .rounds = 3,
          .phase = "timed",
          .steps = 14,
          .steps_wanted = 20,
          .tokens_per_s = 61944,
          .seconds_left = 100};
}

TEST(LiveLine, ShowsPlacePhaseStepsRateAndTimeLeft) {
  EXPECT_EQ(live_line(sample_state(), 200),
            "[#########.......] 7/12  length=1024 batch=4 r2  timed 14/20 steps  61.9k tok/s  "
            "1 min 40 s left");
}

TEST(LiveLine, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(live_line({.number = 1, .total = 2, .phase = "load"}, 200),
            "[................] 1/2  load");
}

TEST(LiveLine, FitsTheWidth) {
  LiveState state = sample_state();
  state.point = "model_name=modèle";
  EXPECT_EQ(display_width(live_line(state, 40)), 40U);
}

TEST(LiveLine, NamesRoundsAndAttemptsOnlyWhenThereAreMore) {
  EXPECT_EQ(measurement_title({.number = 1, .total = 2, .point = "batch=1"}), "1/2  batch=1");
  EXPECT_EQ(measurement_title({.number = 1, .total = 2, .point = "batch=1", .attempt = 2}),
            "1/2  batch=1 try 2");
}

TEST(ShortRate, KeepsThreeDigits) {
  EXPECT_EQ(short_rate(5.25), "5.2");
  EXPECT_EQ(short_rate(99.96), "100");
  EXPECT_EQ(short_rate(9999.0), "9999");
  EXPECT_EQ(short_rate(61944.0), "61.9k");
  EXPECT_EQ(short_rate(999'960.0), "1.0M");
}

}  // namespace
}  // namespace tunebench::report
