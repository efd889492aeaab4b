#include "tunebench/search/walk.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/search/internal/low_discrepancy.h"

namespace tunebench::search {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::vector<Point> walked(const Searcher& searcher, std::size_t most = 1000) {
  std::vector<Observation> history;
  std::vector<Point> points;
  while (points.size() < most) {
    const std::optional<Choice> choice = searcher.next(history);
    if (!choice) {
      break;
    }
    points.push_back(choice->point);
    history.push_back({.point = choice->point, .objectives = {1.0}});
  }
  return points;
}

std::vector<Point> in_order(Method method, const FiniteSpace& space, std::uint64_t seed = 0,
                            std::vector<std::string> grouping = {}, std::int64_t repeats = 1) {
  SearchConfig config;
  config.method = method;
  config.grouping = std::move(grouping);
  config.repeats = repeats;
  return walked(*make_searcher(config, space, seed));
}

FiniteSpace two_by_three() {
  return FiniteSpace({{"model", {"a", "b"}}, {"batch", {1, 2, 4}}});
}

TEST(Orders, GridIsThePointsInOrder) {
  EXPECT_THAT(in_order(Method::Grid, two_by_three()), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Orders, RandomIsTheSameForTheSameSeed) {
  const FiniteSpace space = two_by_three();
  EXPECT_THAT(in_order(Method::Random, space, 5), UnorderedElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(in_order(Method::Random, space, 5), in_order(Method::Random, space, 5));
  std::set<std::vector<Point>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    orders.insert(in_order(Method::Random, space, seed));
  }
  EXPECT_GT(orders.size(), 15U);
}

TEST(Orders, GroupedKeepsTogetherWhatIsExpensiveToChange) {
  const FiniteSpace space({{"batch", {1, 2, 4}}, {"model", {"a", "b"}}});
  EXPECT_THAT(in_order(Method::Grouped, space, 0, {"model"}), ElementsAre(0, 2, 4, 1, 3, 5));
  std::set<std::vector<Point>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    orders.insert(in_order(Method::RandomGrouped, space, seed, {"model"}));
  }
  EXPECT_THAT(orders,
              UnorderedElementsAre(ElementsAre(0, 2, 4, 1, 3, 5), ElementsAre(1, 3, 5, 0, 2, 4)));
}

TEST(Orders, RepeatsComeBackToBackOrInRounds) {
  const FiniteSpace space({{"a", {1, 2}}});
  EXPECT_THAT(in_order(Method::Grid, space, 0, {}, 2), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(in_order(Method::Interleaved, space, 0, {}, 2), ElementsAre(0, 1, 0, 1));
}

TEST(Orders, AFailedPointIsNotRepeated) {
  const FiniteSpace space({{"a", {1, 2}}});
  SearchConfig config;
  config.method = Method::Interleaved;
  config.repeats = 3;
  const auto searcher = make_searcher(config, space, 0);
  const std::vector<Observation> history = {{.point = 0, .objectives = {}, .valid = false},
                                            {.point = 1, .objectives = {1.0}}};
  EXPECT_EQ(searcher->next(history)->point, 1U);
}

TEST(LatinHypercube, EachValueComesOnceInABlock) {
  const FiniteSpace space({{"a", {0, 1, 2, 3, 4, 5, 6, 7}}, {"one", {1}}, {"b", {"s", "t"}}});
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Sequence::Order order = hypercube_order(space, 8, seed);
    for (const std::uint64_t block : {0U, 1U, 7U}) {
      std::vector<int> first(8);
      std::vector<int> last(2);
      for (std::uint64_t i = 0; i < 8; ++i) {
        const std::vector<std::size_t> at = space.coordinates(order(block * 8 + i));
        ++first[at[0]];
        ++last[at[2]];
      }
      EXPECT_THAT(first, testing::Each(1));
      EXPECT_THAT(last, testing::Each(4));
    }
  }
}

TEST(LatinHypercube, ABlockIsFourTimesTheDimensionsWithAChoice) {
  EXPECT_EQ(default_block(FiniteSpace({{"a", {1, 2}}, {"b", {1}}, {"c", {1, 2, 3}}})), 8U);
  EXPECT_EQ(default_block(FiniteSpace({})), 1U);
}

// The first points in Joe and Kuo's order, as printed by their program.
TEST(Sobol, BeginsAsPublished) {
  const std::vector<std::vector<double>> published = {{0, 0, 0},
                                                      {0.5, 0.5, 0.5},
                                                      {0.75, 0.25, 0.25},
                                                      {0.25, 0.75, 0.75},
                                                      {0.375, 0.375, 0.625},
                                                      {0.875, 0.875, 0.125},
                                                      {0.625, 0.125, 0.875},
                                                      {0.125, 0.625, 0.375},
                                                      {0.1875, 0.3125, 0.9375},
                                                      {0.6875, 0.8125, 0.4375}};
  for (std::size_t i = 0; i < published.size(); ++i) {
    EXPECT_EQ(sobol_point(3, i), published[i]) << i;
  }
}

TEST(Sobol, ShiftedFillsAPowerOfTwoGridEvenly) {
  const FiniteSpace space({{"a", {0, 1, 2, 3}}, {"b", {0, 1, 2, 3}}});
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    std::set<Point> seen;
    const Sequence::Order order = sobol_order(space, seed);
    for (std::uint64_t i = 0; i < 16; ++i) {
      seen.insert(order(i));
    }
    EXPECT_EQ(seen.size(), 16U);
  }
}

TEST(Walk, TakesAdosNames) {
  EXPECT_EQ(find_sampler("selector"), WalkConfig::Sampler::Selector);
  EXPECT_EQ(find_sampler("generator"), WalkConfig::Sampler::Generator);
  EXPECT_EQ(find_sampler("x"), std::nullopt);
  EXPECT_EQ(find_walk_mode("randomgrouped"), WalkConfig::Mode::RandomGrouped);
  EXPECT_EQ(find_walk_mode("sequentialgrouped"), WalkConfig::Mode::SequentialGrouped);
  EXPECT_EQ(find_walk_mode("grouped"), std::nullopt);
}

TEST(Walk, GeneratorGoesThroughTheSpace) {
  const FiniteSpace space = two_by_three();
  WalkConfig config{.sampler = WalkConfig::Sampler::Generator,
                    .mode = WalkConfig::Mode::Sequential,
                    .grouping = {},
                    .count = 4};
  EXPECT_THAT(walked(*make_walk(config, space, 0)), ElementsAre(0, 1, 2, 3));
  config.count = std::nullopt;
  EXPECT_EQ(walked(*make_walk(config, space, 0)).size(), 6U);
  config.mode = WalkConfig::Mode::Random;
  config.count = 3;
  EXPECT_EQ(walked(*make_walk(config, space, 7)).size(), 3U);
}

TEST(Walk, SelectorGoesThroughStoredMembers) {
  const FiniteSpace space({{"batch", {1, 2, 4}}, {"model", {"a", "b"}}},
                          [](std::span<const std::size_t> at) { return at[0] != 1; });
  // Points 2 and 3 are forbidden; 4 stands there twice.
  const std::vector<Point> stored = {5, 2, 4, 0, 4, 1};
  WalkConfig config{.sampler = WalkConfig::Sampler::Selector,
                    .mode = WalkConfig::Mode::Sequential,
                    .grouping = {},
                    .count = std::nullopt};
  EXPECT_THAT(walked(*make_walk(config, space, 0, stored)), ElementsAre(5, 4, 0, 1));
  config.mode = WalkConfig::Mode::SequentialGrouped;
  config.grouping = {"model"};
  EXPECT_THAT(walked(*make_walk(config, space, 0, stored)), ElementsAre(5, 1, 4, 0));
  config.mode = WalkConfig::Mode::RandomGrouped;
  std::set<std::vector<Point>> orders;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    orders.insert(walked(*make_walk(config, space, seed, stored)));
  }
  EXPECT_THAT(orders, UnorderedElementsAre(ElementsAre(5, 1, 4, 0), ElementsAre(4, 0, 5, 1)));
  config.mode = WalkConfig::Mode::Random;
  EXPECT_THAT(walked(*make_walk(config, space, 3, stored)), UnorderedElementsAre(0, 1, 4, 5));
  EXPECT_THAT(walked(*make_walk(config, space, 3)), ElementsAre());
}

TEST(Walk, TellsWhatIsWrong) {
  const FiniteSpace space = two_by_three();
  WalkConfig config{.sampler = WalkConfig::Sampler::Generator,
                    .mode = WalkConfig::Mode::Sequential,
                    .grouping = {},
                    .count = 7};
  EXPECT_EQ(check(config, space).at(0).line(), "numberEntities is 7, but the space has 6 points");
  config.count = 0;
  EXPECT_EQ(check(config, space).at(0).line(), "numberEntities must be at least 1 or all, not 0");
  config.count = 3;
  config.sampler = WalkConfig::Sampler::Selector;
  const std::vector<Point> stored = {1, 2};
  EXPECT_EQ(check(config, space, stored).at(0).line(),
            "numberEntities is 3, but the store has 2 points of this space");
  config.count = 1;
  config.mode = WalkConfig::Mode::SequentialGrouped;
  EXPECT_EQ(check(config, space, stored).at(0).line(),
            "method grouped needs grouping: the names of the inputs to keep together");
  config.grouping = {"modle"};
  EXPECT_EQ(check(config, space, stored).at(0).line(),
            "'modle' in grouping is no dimension - did you mean 'model'?");
  EXPECT_THROW(make_walk(config, space, 0, stored), Error);
}

}  // namespace
}  // namespace tunebench::search
