#include "tunebench/trainer/rank_merge.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::trainer {
namespace {

HelloEvent hello(std::int64_t rank, std::int64_t world, std::string device = "cpu") {
  return {.trainer = "t", .rank = rank, .world = world, .device = std::move(device)};
}

StepEvent rank_step(std::int64_t rank, std::int64_t n, std::int64_t t0, std::int64_t t1) {
  return {.n = n,
          .t0 = t0,
          .t1 = t1,
          .samples = 4,
          .tokens = 40,
          .tokens_nonpad = 30 + rank,
          .tokens_trained = 20 + rank,
          .loss = 1.0 + static_cast<double>(rank),
          .grad_norm = 0.5 + static_cast<double>(rank),
          .learning_rate = 1e-5,
          .rank = rank};
}

std::vector<Event> all(RankMerge& merge) {
  std::vector<Event> events;
  while (std::optional<Event> event = merge.take()) {
    events.push_back(std::move(*event));
  }
  return events;
}

TEST(RankMerge, PassesEverythingOnWithOneProcess) {
  RankMerge merge;
  merge.add(hello(0, 1));
  merge.add(PhaseEvent{.name = "train"});
  merge.add(rank_step(0, 1, 10, 20));
  merge.add(EndEvent{.status = "ok", .steps = 1});
  EXPECT_EQ(all(merge).size(), 4U);
  EXPECT_EQ(merge.seen().world, 1);
}

TEST(RankMerge, AStepIsThereWhenAllRanksHaveToldIt) {
  RankMerge merge;
  merge.add(hello(1, 2));
  merge.add(rank_step(1, 1, 9, 21));
  merge.add(hello(0, 2));
  EXPECT_EQ(all(merge).size(), 1U) << "the hello of rank 0";
  merge.add(rank_step(0, 1, 10, 20));
  const std::vector<Event> events = all(merge);
  ASSERT_EQ(events.size(), 1U);
  const auto& step = std::get<StepEvent>(events[0]);
  EXPECT_EQ(step.t0, 9);
  EXPECT_EQ(step.t1, 21);
  EXPECT_EQ(step.samples, 8);
  EXPECT_EQ(step.tokens, 80);
  EXPECT_EQ(step.tokens_nonpad, 61);
  EXPECT_EQ(step.tokens_trained, 41);
  EXPECT_EQ(step.loss, 1.5);
  EXPECT_EQ(step.grad_norm, 0.5);
}

TEST(RankMerge, AStepDoesNotBeginBeforeTheOneBeforeHasEnded) {
  RankMerge merge;
  merge.add(hello(0, 2));
  for (const std::int64_t rank : {0, 1}) {
    merge.add(rank_step(rank, 1, 10, 20 + 5 * rank));
  }
  for (const std::int64_t rank : {1, 0}) {
    merge.add(rank_step(rank, 2, 21 + rank, 40));
  }
  const std::vector<Event> events = all(merge);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(std::get<StepEvent>(events[2]).t0, 25) << "the end of rank 1's first step";
}

TEST(RankMerge, ALossThatIsNoNumberStaysOne) {
  RankMerge merge;
  merge.add(hello(0, 2));
  merge.add(rank_step(0, 1, 10, 20));
  StepEvent broken = rank_step(1, 1, 10, 20);
  broken.loss = std::nan("");
  merge.add(broken);
  const std::vector<Event> events = all(merge);
  EXPECT_TRUE(std::isnan(*std::get<StepEvent>(events[1]).loss));
}

TEST(RankMerge, AddsHostMemoryAndTakesTheFullestDevice) {
  RankMerge merge;
  merge.add(hello(0, 2));
  merge.add(MemoryEvent{.device_peak_bytes = 7, .host_peak_bytes = 100, .rank = 0});
  merge.add(MemoryEvent{.device_peak_bytes = 9, .host_peak_bytes = 50, .rank = 1});
  merge.add(MemoryEvent{.device_peak_bytes = 8, .host_peak_bytes = 101, .rank = 0});
  const std::vector<Event> events = all(merge);
  const auto& last = std::get<MemoryEvent>(events.back());
  EXPECT_EQ(last.device_peak_bytes, 9);
  EXPECT_EQ(last.host_peak_bytes, 151);
}

TEST(RankMerge, EndsWhenTheLastRankEnds) {
  RankMerge merge;
  merge.add(hello(0, 2));
  merge.add(EndEvent{.status = "ok", .steps = 3, .rank = 0});
  EXPECT_EQ(all(merge).size(), 1U);
  merge.add(EndEvent{.status = "failed", .steps = 3, .rank = 1});
  const std::vector<Event> events = all(merge);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(std::get<EndEvent>(events[0]).status, "failed");
}

TEST(RankMerge, KnowsWhoHasSpoken) {
  RankMerge merge;
  merge.add(hello(0, 3));
  merge.add(hello(2, 3, "cuda"));
  merge.add(rank_step(0, 1, 10, 20));
  EXPECT_EQ(merge.seen().world, 3);
  EXPECT_THAT(merge.seen().told, testing::ElementsAre(0, 2));
  EXPECT_THAT(merge.seen().stepped, testing::ElementsAre(0));
  EXPECT_EQ(merge.seen().devices.at(2), "cuda");
}

TEST(RankMerge, NamesTheRankOfAnError) {
  RankMerge merge;
  merge.add(hello(0, 2));
  merge.add(ErrorEvent{.kind = "oom_gpu", .message = "out of memory", .rank = 1});
  const std::vector<Event> events = all(merge);
  EXPECT_EQ(std::get<ErrorEvent>(events[1]).message, "rank 1: out of memory");
}

TEST(RankMerge, RanksSurviveTheWayThroughText) {
  for (const Event& event :
       {Event(rank_step(2, 1, 10, 20)), Event(EndEvent{.status = "ok", .steps = 1, .rank = 2}),
        Event(MemoryEvent{.host_peak_bytes = 5, .rank = 2}),
        Event(ErrorEvent{.kind = "io", .rank = 2}), Event(PhaseEvent{.name = "load", .rank = 2})}) {
    const std::optional<Event> back = parse_event(event_line(event));
    ASSERT_TRUE(back.has_value());
    std::visit([](const auto& one) { EXPECT_EQ(one.rank, 2); }, *back);
  }
}

}  // namespace
}  // namespace tunebench::trainer
