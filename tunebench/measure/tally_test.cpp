#include "tunebench/measure/tally.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace tunebench::measure {
namespace {

const experiment::Point kPoint{
    .experiment = "finetune_full_benchmark-v1.0.0",
    .inputs = {{"batch_size", 2}, {"gradient_accumulation_steps", 4}, {"model_max_length", 10}}};

trainer::StepEvent step(std::int64_t n) {
  trainer::StepEvent event;
  event.n = n;
  event.t0 = n * 1000;
  event.t1 = n * 1000 + 900;
  event.samples = 8;
  event.tokens = 80;
  event.tokens_nonpad = 70;
  event.tokens_trained = 60;
  event.loss = 2.5;
  event.grad_norm = 0.5;
  return event;
}

/// What is found wrong with a run whose second step is `changed`.
std::string contradiction_of(const trainer::StepEvent& changed) {
  Tally tally(kPoint);
  tally.add(step(1));
  tally.add(changed);
  return tally.contradiction();
}

TEST(TallyTest, AddsUpEveryCountOfEveryStep) {
  Tally tally(kPoint);
  tally.add(step(1));
  tally.add(step(2));
  trainer::StepEvent last = step(3);
  last.samples = 3;
  last.tokens = 24;
  last.tokens_nonpad = 20;
  last.tokens_trained = 17;
  tally.add(last);
  tally.end({.status = "ok", .steps = 3});
  EXPECT_EQ(tally.steps(), 3);
  EXPECT_EQ(tally.totals().samples, 19);
  EXPECT_EQ(tally.totals().tokens, 184);
  EXPECT_EQ(tally.totals().tokens_nonpad, 160);
  EXPECT_EQ(tally.totals().tokens_trained, 137);
  EXPECT_EQ(tally.totals().duration_ns, 2700);
  EXPECT_DOUBLE_EQ(tally.train_s(), 2900e-9);
  EXPECT_EQ(tally.contradiction(), "");
}

TEST(TallyTest, APairOfAnswersIsOneSampleOfTwoRows) {
  experiment::Point pairs = kPoint;
  pairs.experiment = "finetune_dpo_benchmark-v1.0.0";
  Tally tally(pairs);
  trainer::StepEvent event = step(1);
  event.tokens = 160;
  tally.add(event);
  EXPECT_EQ(tally.contradiction(), "");
  event = step(2);
  event.tokens = 161;
  tally.add(event);
  EXPECT_EQ(tally.contradiction(), "step 2: tokens 161 exceeds 8 pairs of model_max_length 10");
}

TEST(TallyTest, FindsCountsThatCannotBe) {
  trainer::StepEvent event = step(2);
  event.tokens_nonpad = 81;
  EXPECT_EQ(contradiction_of(event), "step 2: tokens_nonpad 81 exceeds tokens 80");
  event = step(2);
  event.tokens_trained = 71;
  EXPECT_EQ(contradiction_of(event), "step 2: tokens_trained 71 exceeds tokens_nonpad 70");
  event = step(2);
  event.tokens_trained = -1;
  EXPECT_EQ(contradiction_of(event), "step 2: tokens_trained -1 is negative");
  event = step(2);
  event.samples = 0;
  EXPECT_EQ(contradiction_of(event), "step 2: samples 0 is not positive");
  event = step(2);
  event.samples = 9;
  EXPECT_EQ(contradiction_of(event),
            "step 2: samples 9 exceeds batch_size x gradient_accumulation_steps, 8");
  event = step(2);
  event.tokens = 81;
  EXPECT_EQ(contradiction_of(event), "step 2: tokens 81 exceeds 8 samples of model_max_length 10");
}

TEST(TallyTest, FindsTimesAndNumbersThatDoNotFitTogether) {
  trainer::StepEvent event = step(2);
  event.t1 = event.t0;
  EXPECT_EQ(contradiction_of(event), "step 2: t1 2000 is not after t0 2000");
  event = step(2);
  event.t0 = 1800;
  EXPECT_EQ(contradiction_of(event), "step 2: t0 1800 is before the end of the step before, 1900");
  EXPECT_EQ(contradiction_of(step(3)), "step 3: the event that came as number 2");
  EXPECT_EQ(contradiction_of(step(1)), "step 1: the event that came as number 2");
}

TEST(TallyTest, KeepsTheFirstContradiction) {
  Tally tally(kPoint);
  tally.add(step(2));
  tally.add(step(7));
  tally.end({.status = "ok", .steps = 9});
  EXPECT_EQ(tally.contradiction(), "step 2: the event that came as number 1");
}

TEST(TallyTest, ComparesTheEndWithTheStepsThatCame) {
  Tally tally(kPoint);
  tally.add(step(1));
  tally.end({.status = "ok", .steps = 2});
  EXPECT_EQ(tally.contradiction(), "the end event tells 2 steps, 1 step events came");
}

TEST(TallyTest, ChecksNoLimitThatThePointDoesNotSet) {
  Tally tally(experiment::Point{});
  trainer::StepEvent event = step(1);
  event.samples = 1;
  event.tokens = 1'000'000;
  tally.add(event);
  EXPECT_EQ(tally.contradiction(), "");
}

TEST(TallyTest, DoesNotAddUpNumbersBeyondAllMeasure) {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  Tally tally(experiment::Point{});
  trainer::StepEvent event = step(1);
  event.samples = event.tokens = kHuge;
  tally.add(event);
  tally.add(event);
  EXPECT_EQ(tally.contradiction(),
            "step 1: samples 9223372036854775807 or tokens "
            "9223372036854775807 is more than a step can hold");
  EXPECT_EQ(tally.totals().tokens, 0);
  event = step(2);
  event.t0 = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(contradiction_of(event), "step 2: t0 -9223372036854775808 is negative");
}

TEST(TallyTest, CountsStepsThatAreNotFinite) {
  Tally tally(kPoint);
  tally.add(step(1));
  trainer::StepEvent event = step(2);
  event.grad_norm = std::numeric_limits<double>::infinity();
  tally.add(event);
  event = step(3);
  event.loss = std::nan("");
  tally.add(event);
  tally.add(step(4));
  EXPECT_EQ(tally.nonfinite_steps(), 2);
  EXPECT_EQ(tally.first_nonfinite(), 2);
  EXPECT_EQ(tally.nonfinite_what(), "gradient norm");
}

TEST(TallyTest, DoesNotCountTheLossOfAStepThatTrainsNoToken) {
  Tally tally(kPoint);
  trainer::StepEvent event = step(1);
  event.tokens_trained = 0;
  event.loss = std::nan("");
  tally.add(event);
  EXPECT_EQ(tally.nonfinite_steps(), 0);
}

TEST(TallyTest, DoesNotCountALossThatIsNotTold) {
  Tally tally(kPoint);
  trainer::StepEvent event = step(1);
  event.loss.reset();
  event.grad_norm.reset();
  tally.add(event);
  EXPECT_EQ(tally.nonfinite_steps(), 0);
}

}  // namespace
}  // namespace tunebench::measure
