#include "tunebench/search/internal/successive_halving.h"

#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tunebench::search {
namespace {

using testing::ElementsAre;

SearchConfig ladder(std::int64_t least, std::int64_t most, std::int64_t eta) {
  SearchConfig config;
  config.method = Method::SuccessiveHalving;
  config.min_budget = least;
  config.max_budget = most;
  config.eta = eta;
  return config;
}

TEST(Rungs, GrowByEtaUpToTheLargest) {
  EXPECT_THAT(rungs(10, 90, 3), ElementsAre(10, 30, 90));
  EXPECT_THAT(rungs(10, 100, 3), ElementsAre(10, 30, 90, 100));
  EXPECT_THAT(rungs(5, 5, 2), ElementsAre(5));
  EXPECT_THAT(rungs(1, INT64_MAX, 4).back(), INT64_MAX);
}

FiniteSpace nine_points() {
  return FiniteSpace({{"x", {0, 1, 2, 3, 4, 5, 6, 7, 8}}});
}

TEST(SuccessiveHalving, PromotesABestThirdAsSoonAsThereIsOne) {
  const FiniteSpace space = nine_points();
  const auto searcher = make_searcher(ladder(10, 90, 3), space, 0);
  std::vector<Observation> history = {{.point = 4, .objectives = {1}, .budget = 10},
                                      {.point = 5, .objectives = {3}, .budget = 10}};
  EXPECT_EQ(searcher->next(history)->budget, 10);
  history.push_back({.point = 6, .objectives = {2}, .budget = 10});
  const Choice choice = searcher->next(history).value();
  EXPECT_EQ(choice.point, 5U);
  EXPECT_EQ(choice.budget, 30);
  EXPECT_EQ(choice.why, "place 1 of 3 after 10 steps");
  // While it is measured, another process starts a new point.
  const std::vector<Pending> pending = {{5, 30}};
  EXPECT_EQ(searcher->next(history, pending)->budget, 10);
}

TEST(SuccessiveHalving, AWholeSearchClimbsToTheTop) {
  const FiniteSpace space = nine_points();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto searcher = make_searcher(ladder(10, 90, 3), space, seed);
    std::vector<Observation> history;
    std::map<std::int64_t, int> rungs_used;
    while (const std::optional<Choice> choice = searcher->next(history)) {
      history.push_back({.point = choice->point,
                         .objectives = {static_cast<double>(choice->point)},
                         .budget = choice->budget});
      ++rungs_used[choice->budget];
    }
    EXPECT_EQ(rungs_used[10], 9);
    // A rung that fills one by one promotes some that are overtaken later.
    EXPECT_GE(rungs_used[30], 3);
    EXPECT_LE(rungs_used[30], 6);
    EXPECT_GE(rungs_used[90], 1);
    EXPECT_LE(rungs_used[90], 3);
    EXPECT_TRUE(std::ranges::any_of(
        history, [](const Observation& one) { return one.point == 8 && one.budget == 90; }));
  }
}

TEST(SuccessiveHalving, FewPointsStillReachTheTopAndFailuresDoNot) {
  const FiniteSpace space({{"x", {0, 1}}});
  const auto searcher = make_searcher(ladder(10, 90, 3), space, 0);
  std::vector<Observation> history = {{.point = 0, .objectives = {}, .valid = false, .budget = 10},
                                      {.point = 1, .objectives = {1}, .budget = 10}};
  for (const std::int64_t budget : {30, 90}) {
    const Choice choice = searcher->next(history).value();
    EXPECT_EQ(choice.point, 1U);
    EXPECT_EQ(choice.budget, budget);
    history.push_back({.point = 1, .objectives = {1}, .budget = budget});
  }
  EXPECT_EQ(searcher->next(history), std::nullopt);
}

TEST(SuccessiveHalving, AFullMeasurementCountsAsTheTopRung) {
  const FiniteSpace space({{"x", {0, 1}}});
  const auto searcher = make_searcher(ladder(10, 90, 3), space, 0);
  const std::vector<Observation> history = {{.point = 0, .objectives = {5}},
                                            {.point = 1, .objectives = {5}}};
  EXPECT_EQ(searcher->next(history), std::nullopt);
}

}  // namespace
}  // namespace tunebench::search
