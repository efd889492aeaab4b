#include "tunebench/search/searcher.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <thread>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/base/random.h"
#include "tunebench/search/hypervolume.h"

namespace tunebench::search {
namespace {

using testing::ElementsAre;

/// 3 x 4 x 3 x 2 = 72 points, 66 of them allowed.
FiniteSpace mixed_space() {
  return FiniteSpace({{"model", {"a", "b", "c"}},
                      {"batch", {1, 2, 4, 8}},
                      {"length", {512, 1024, 2048}},
                      {"lora", {false, true}}},
                     [](std::span<const std::size_t> at) { return at[1] < 3 || at[2] != 2; });
}

SearchConfig config_of(Method method) {
  SearchConfig config;
  config.method = method;
  config.grouping = {"model"};
  config.min_budget = 10;
  config.max_budget = 90;
  return config;
}

std::vector<Method> every_method() {
  std::vector<Method> methods;
  for (const std::string& name : method_names()) {
    methods.push_back(find_method(name).value());
  }
  return methods;
}

/// A made-up measurement that depends on everything it is given: better with the batch, worse with
/// the model; large batches of long sequences fail.
Observation measured(const FiniteSpace& space, const Choice& choice, std::size_t objectives = 1) {
  const std::vector<std::size_t> at = space.coordinates(choice.point);
  Observation observation{.point = choice.point, .objectives = {}};
  observation.budget = choice.budget;
  observation.valid = at[1] * at[2] < 4;
  for (std::size_t i = 0; i < objectives; ++i) {
    observation.objectives.push_back(1000.0 * static_cast<double>(at[1] + 1 + i * at[0]) +
                                     100 * normal(3, i, choice.point));
  }
  return observation;
}

std::vector<Observation> whole_search(const Searcher& searcher, const FiniteSpace& space,
                                      std::size_t most = 10000, std::size_t objectives = 1) {
  std::vector<Observation> history;
  while (history.size() < most) {
    const std::optional<Choice> choice = searcher.next(history);
    if (!choice) {
      break;
    }
    history.push_back(measured(space, *choice, objectives));
  }
  return history;
}

TEST(Searcher, NamesOfMethods) {
  EXPECT_EQ(find_method("Latin-Hypercube"), Method::LatinHypercube);
  EXPECT_EQ(find_method("bayes"), std::nullopt);
  EXPECT_EQ(method_name(Method::GaussianProcess), "gaussian_process");
  EXPECT_EQ(method_names().size(), 10U);
}

TEST(Searcher, GoesThroughEachAllowedPointOnce) {
  const FiniteSpace space = mixed_space();
  for (const Method method : every_method()) {
    const auto searcher = make_searcher(config_of(method), space, 11);
    const std::vector<Observation> history = whole_search(*searcher, space);
    std::set<std::pair<Point, std::int64_t>> distinct;
    std::set<Point> points;
    for (const Observation& observation : history) {
      EXPECT_TRUE(space.allowed(observation.point));
      distinct.insert({observation.point, observation.budget});
      points.insert(observation.point);
    }
    EXPECT_EQ(distinct.size(), history.size()) << method_name(method);
    EXPECT_EQ(points.size(), 66U) << method_name(method);
  }
}

// The state of a search is its history: another searcher, given any beginning of it, goes on alike.
TEST(Searcher, GoesOnAfterAnyInterruption) {
  const FiniteSpace space = mixed_space();
  for (const Method method : every_method()) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const auto searcher = make_searcher(config_of(method), space, seed);
      const std::vector<Observation> history = whole_search(*searcher, space, 30);
      for (std::size_t cut = 0; cut < history.size(); cut += 1 + seed) {
        const auto resumed = make_searcher(config_of(method), space, seed);
        const std::optional<Choice> choice = resumed->next(std::span(history).first(cut));
        ASSERT_TRUE(choice.has_value());
        ASSERT_EQ(choice->point, history[cut].point) << method_name(method) << " cut at " << cut;
        ASSERT_EQ(choice->budget, history[cut].budget);
      }
    }
  }
}

TEST(Searcher, TheSeedMakesADifference) {
  const FiniteSpace space = mixed_space();
  for (const Method method : every_method()) {
    if (method == Method::Grid || method == Method::Interleaved || method == Method::Grouped) {
      continue;
    }
    std::set<std::vector<Point>> beginnings;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      std::vector<Point> points;
      for (const Observation& one :
           whole_search(*make_searcher(config_of(method), space, seed), space, 30)) {
        points.push_back(one.point);
      }
      beginnings.insert(points);
    }
    EXPECT_GT(beginnings.size(), 4U) << method_name(method);
  }
}

TEST(Searcher, LeavesPendingPointsAlone) {
  const FiniteSpace space = mixed_space();
  for (const Method method : every_method()) {
    const auto searcher = make_searcher(config_of(method), space, 5);
    std::vector<Observation> history = whole_search(*searcher, space, 20);
    std::vector<Pending> pending;
    std::set<std::pair<Point, std::int64_t>> seen;
    for (const Observation& one : history) {
      seen.insert({one.point, one.budget});
    }
    for (int i = 0; i < 8; ++i) {
      const Choice choice = searcher->next(history, pending).value();
      EXPECT_TRUE(seen.insert({choice.point, choice.budget}).second) << method_name(method);
      pending.push_back({choice.point, choice.budget});
    }
  }
}

TEST(Searcher, MayBeAskedByThreads) {
  const FiniteSpace space = mixed_space();
  for (const Method method : every_method()) {
    const auto shared = make_searcher(config_of(method), space, 5);
    std::vector<std::vector<Observation>> histories(3);
    std::vector<std::thread> threads;
    for (std::vector<Observation>& history : histories) {
      threads.emplace_back([&] { history = whole_search(*shared, space, 15); });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    for (std::size_t i = 0; i < 15; ++i) {
      EXPECT_EQ(histories[1][i].point, histories[0][i].point);
      EXPECT_EQ(histories[2][i].point, histories[0][i].point);
    }
  }
}

TEST(Searcher, OnePointAndNoPoint) {
  const FiniteSpace one({{"a", {1}}});
  const FiniteSpace none({{"model", {1, 2, 3}}},
                         [](std::span<const std::size_t>) { return false; });
  for (const Method method : every_method()) {
    SearchConfig config = config_of(method);
    config.grouping = {"a"};
    const auto searcher = make_searcher(config, one, 1);
    EXPECT_EQ(searcher->next({})->point, 0U);
    const std::vector<Observation> full = {{.point = 0, .objectives = {1.0}}};
    EXPECT_EQ(searcher->next(full), std::nullopt) << method_name(method);
    EXPECT_EQ(make_searcher(config_of(method), none, 1)->next({}), std::nullopt);
  }
}

TEST(Searcher, BearsFailuresTiesAndOddNumbers) {
  const FiniteSpace space = mixed_space();
  const std::vector<double> values = {std::nan(""), 1.0, INFINITY, -1e308, 1e308, 0.0, -5.0};
  for (const Method method : {Method::Tpe, Method::GaussianProcess, Method::SuccessiveHalving}) {
    for (std::size_t kind = 0; kind < values.size() + 2; ++kind) {
      const auto searcher = make_searcher(config_of(method), space, 2);
      std::vector<Observation> history;
      for (std::size_t i = 0; i < 25; ++i) {
        const Choice choice = searcher->next(history).value();
        Observation one{.point = choice.point, .objectives = {1.0}};
        one.budget = choice.budget;
        // The same for all, all failed, or everything mixed.
        one.objectives[0] = kind < values.size() ? values[kind] : values[i % values.size()];
        one.valid = kind != values.size();
        history.push_back(one);
      }
    }
  }
}

TEST(Searcher, GivenPointsComeFirst) {
  const FiniteSpace space = mixed_space();
  for (const Method method : every_method()) {
    SearchConfig config = config_of(method);
    config.first = {7, 3};
    const auto searcher = make_searcher(config, space, 1);
    const std::vector<Observation> history = whole_search(*searcher, space, 10);
    EXPECT_EQ(history[0].point, 7U);
    EXPECT_EQ(history[1].point, 3U);
  }
}

TEST(Searcher, ABillionPointsTakeMilliseconds) {
  Json::Array thousand;
  for (int i = 1; i <= 1000; ++i) {
    thousand.emplace_back(i);
  }
  const FiniteSpace space({{"a", thousand}, {"b", thousand}, {"model", thousand}},
                          [](std::span<const std::size_t> at) { return at[0] % 2 == 0; });
  for (const Method method : every_method()) {
    const auto searcher = make_searcher(config_of(method), space, 3);
    std::vector<Observation> history;
    for (std::size_t i = 0; i < 12; ++i) {
      const auto start = std::chrono::steady_clock::now();
      const Choice choice = searcher->next(history).value();
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      // Some milliseconds; a loop over the space would take minutes.
      EXPECT_LT(took.count(), 5.0) << method_name(method);
      EXPECT_TRUE(space.allowed(choice.point));
      history.push_back({.point = choice.point, .objectives = {static_cast<double>(choice.point)}});
      history.back().budget = choice.budget;
    }
  }
}

TEST(Searcher, ALargeSpaceWithoutAllowedPointsIsTold) {
  Json::Array many;
  for (int i = 0; i < 5000; ++i) {
    many.emplace_back(i);
  }
  const FiniteSpace space({{"a", many}, {"b", many}},
                          [](std::span<const std::size_t>) { return false; });
  try {
    static_cast<void>(make_searcher(config_of(Method::Grid), space, 0)->next({}));
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.message(),
              "the rules forbid 10000000 points in a row of 25000000; loosen a rule or list fewer "
              "values");
  }
}

/// Of the valid ones, with the last objective to be minimised.
double volume_of(const std::vector<Observation>& history, std::size_t objectives) {
  LossRows rows;
  for (const Observation& one : history) {
    if (one.valid) {
      rows.emplace_back();
      for (std::size_t i = 0; i < objectives; ++i) {
        rows.back().push_back(i + 1 < objectives ? -one.objectives[i] : one.objectives[i]);
      }
    }
  }
  std::vector<double> reference(objectives, 0.0);
  reference.back() = 20000;
  return hypervolume(rows, reference);
}

TEST(Searcher, SeveralObjectivesFindTheFront) {
  const FiniteSpace space = mixed_space();
  for (std::size_t objectives = 2; objectives <= 3; ++objectives) {
    SearchConfig config = config_of(Method::Grid);
    config.directions.assign(objectives, Direction::Maximize);
    config.directions.back() = Direction::Minimize;
    const double all = volume_of(
        whole_search(*make_searcher(config, space, 0), space, 100, objectives), objectives);
    for (const Method method : {Method::Tpe, Method::GaussianProcess}) {
      config.method = method;
      double worst = 1;
      for (std::uint64_t seed = 0; seed < 10; ++seed) {
        const auto searcher = make_searcher(config, space, seed);
        const auto history = whole_search(*searcher, space, 33, objectives);
        worst = std::min(worst, volume_of(history, objectives) / all);
      }
      // Half of the points, nearly all of the volume.
      EXPECT_GT(worst, 0.97) << method_name(method) << ' ' << objectives;
    }
  }
}

TEST(Searcher, MayRepeatWhenAskedTo) {
  const FiniteSpace space({{"model", {"a", "b", "c", "d", "e"}}});
  SearchConfig config = config_of(Method::GaussianProcess);
  config.extra_repeats = true;
  const auto searcher = make_searcher(config, space, 1);
  std::vector<Observation> history;
  for (std::uint64_t i = 0; i < 30; ++i) {
    const Choice choice = searcher->next(history).value();
    history.push_back({.point = choice.point,
                       .objectives = {10.0 * static_cast<double>(choice.point) + normal(1, 1, i)}});
  }
  EXPECT_GT(std::ranges::count(history, Point{4}, &Observation::point), 5);
}

// What was measured twice looks best to a model that sees noise; the unseen one next to it is
// taken.
TEST(Searcher, CountsRepeatsItReplaced) {
  const FiniteSpace space({{"x", {1, 2, 3, 4, 5, 6}}});
  SearchConfig config = config_of(Method::Tpe);
  const auto searcher = make_searcher(config, space, 1);
  const std::vector<Observation> history = {{.point = 0, .objectives = {9.0}},
                                            {.point = 2, .objectives = {8.0}},
                                            {.point = 3, .objectives = {2.0}},
                                            {.point = 4, .objectives = {1.0}}};
  const Choice choice = searcher->next(history).value();
  EXPECT_EQ(choice.point, 1U);
  EXPECT_EQ(choice.repeats_replaced, 1);
  EXPECT_EQ(choice.why, "best of 6 by tpe");
}

std::string config_fault(const SearchConfig& config) {
  const FiniteSpace space = mixed_space();
  try {
    make_searcher(config, space, 0);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    return error.message();
  }
  return "accepted";
}

TEST(Searcher, TellsWhatIsWrongWithItsConfiguration) {
  SearchConfig config = config_of(Method::Tpe);
  config.directions = {};
  EXPECT_EQ(config_fault(config), "method tpe takes one to three objectives, not 0");
  config.directions.assign(4, Direction::Minimize);
  config.reference = {1, std::nan("")};
  EXPECT_EQ(config_fault(config),
            "method tpe takes one to three objectives, not 4\n"
            "the reference has 2 numbers for 4 objectives\n"
            "the reference has a number that is not finite");
  config = config_of(Method::Grouped);
  config.grouping = {"lenght"};
  EXPECT_EQ(config_fault(config), "'lenght' in grouping is no dimension - did you mean 'length'?");
  config = config_of(Method::SuccessiveHalving);
  config.min_budget = 0;
  config.eta = 1;
  EXPECT_EQ(config_fault(config),
            "successive_halving needs 1 <= min_budget <= max_budget steps, not 0 and 90\n"
            "eta must be at least 2, not 1");
  config = config_of(Method::Grid);
  config.first = {72, 23};
  config.repeats = 0;
  EXPECT_EQ(config_fault(config),
            "the first points name point 72 of 72\n"
            "the rules forbid point 23 of the first points\n"
            "repeats must be at least 1, not 0");
}

}  // namespace
}  // namespace tunebench::search
