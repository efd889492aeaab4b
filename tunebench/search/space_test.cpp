#include "tunebench/search/space.h"

#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/error.h"
#include "tunebench/search/internal/axes.h"
#include "tunebench/search/internal/permutation.h"

namespace tunebench::search {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

std::string space_fault(std::vector<Dimension> dimensions) {
  try {
    const FiniteSpace space(std::move(dimensions));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidInput);
    return error.message();
  }
  return "accepted";
}

TEST(FiniteSpace, LastDimensionIsFastest) {
  const FiniteSpace space({{"a", {1, 2}}, {"b", {"x", "y", "z"}}});
  ASSERT_EQ(space.size(), 6U);
  EXPECT_THAT(space.coordinates(0), ElementsAre(0, 0));
  EXPECT_THAT(space.coordinates(1), ElementsAre(0, 1));
  EXPECT_THAT(space.coordinates(3), ElementsAre(1, 0));
  for (Point point = 0; point < space.size(); ++point) {
    EXPECT_EQ(space.point(space.coordinates(point)), point);
  }
  EXPECT_THROW(static_cast<void>(space.coordinates(6)), Error);
}

TEST(FiniteSpace, WithoutDimensionsIsOnePoint) {
  const FiniteSpace space({});
  EXPECT_EQ(space.size(), 1U);
  EXPECT_TRUE(space.allowed(0));
}

TEST(FiniteSpace, RefusesWhatIsNoSpace) {
  EXPECT_EQ(space_fault({{"a", {}}}), "'a' has no values");
  EXPECT_EQ(space_fault({{"a", {1, 2, 1.0}}}), "'a' lists 1 twice");
  EXPECT_EQ(space_fault({{"a", {"x", "x"}}}), "'a' lists \"x\" twice");
  EXPECT_EQ(space_fault({{"a", {1}}, {"a", {2}}}), "two dimensions are named 'a'");
  Json::Array thousand;
  for (int i = 0; i < 1000; ++i) {
    thousand.emplace_back(i);
  }
  std::vector<Dimension> six;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    six.push_back({name, thousand});
  }
  EXPECT_EQ(FiniteSpace(six).size(), 1'000'000'000'000'000'000U);
  six.push_back({"g", {1, 2}});
  EXPECT_EQ(space_fault(six), "the space has more than 10^18 points; list fewer values");
}

TEST(FiniteSpace, AsksItsRule) {
  const FiniteSpace space({{"a", {1, 2}}, {"b", {1, 2}}},
                          [](std::span<const std::size_t> at) { return at[0] != at[1]; });
  EXPECT_FALSE(space.allowed(0));
  EXPECT_TRUE(space.allowed(1));
  EXPECT_TRUE(space.allowed(2));
  EXPECT_FALSE(space.allowed(3));
}

TEST(Axes, PowersAndDecadesAreLogarithmicRangesAreLinear) {
  const FiniteSpace space({{"powers", {1, 2, 4, 8}},
                           {"range", {10, 20, 30}},
                           {"decades", {1e-5, 1e-4, 2e-3}},
                           {"names", {"a", "b", "c"}},
                           {"flags", {false, true}},
                           {"one", {7}},
                           {"from_zero", {0, 4, 8}}});
  const std::vector<Axis> axes = axes_of(space);
  const auto near = [](double value) { return DoubleNear(value, 1e-12); };
  EXPECT_THAT(axes[0].place, ElementsAre(near(0), near(1.0 / 3), near(2.0 / 3), near(1)));
  EXPECT_THAT(axes[1].place, ElementsAre(near(0), near(0.5), near(1)));
  EXPECT_NEAR(axes[2].place[1], 1 / std::log10(200), 1e-12);
  EXPECT_FALSE(axes[3].ordered);
  EXPECT_EQ(axes[3].distance(0, 2), 1.0);
  EXPECT_EQ(axes[3].distance(2, 2), 0.0);
  EXPECT_FALSE(axes[4].ordered);
  EXPECT_THAT(axes[5].place, ElementsAre(0.0));
  EXPECT_THAT(axes[6].place, ElementsAre(near(0), near(0.5), near(1)));
}

TEST(Permutation, NamesEachNumberOnce) {
  for (const std::uint64_t size : {1U, 2U, 3U, 7U, 64U, 65U, 1000U, 4097U}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const Permutation shuffle(size, seed, 3);
      std::set<std::uint64_t> seen;
      for (std::uint64_t i = 0; i < size; ++i) {
        seen.insert(shuffle.at(i));
      }
      EXPECT_EQ(seen.size(), size);
      EXPECT_EQ(*seen.rbegin(), size - 1);
    }
  }
}

TEST(Permutation, DependsOnSeedAndStream) {
  const std::uint64_t size = 1'000'000'000'000'000'000;
  const Permutation first(size, 1, 1);
  int equal = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    EXPECT_EQ(first.at(i), Permutation(size, 1, 1).at(i));
    equal += first.at(i) == Permutation(size, 2, 1).at(i) ? 1 : 0;
    equal += first.at(i) == Permutation(size, 1, 2).at(i) ? 1 : 0;
  }
  EXPECT_EQ(equal, 0);
  EXPECT_THROW(static_cast<void>(first.at(size)), Error);
}

TEST(Permutation, AllOrdersOfThreeComeAboutEquallyOften) {
  // 6,000 seeds over 6 orders: 1,000 each, standard deviation 29.
  std::map<std::vector<std::uint64_t>, int> counts;
  for (std::uint64_t seed = 0; seed < 6000; ++seed) {
    const Permutation shuffle(3, seed, 0);
    ++counts[{shuffle.at(0), shuffle.at(1), shuffle.at(2)}];
  }
  EXPECT_EQ(counts.size(), 6U);
  for (const auto& [order, count] : counts) {
    EXPECT_NEAR(count, 1000, 150);
  }
}

}  // namespace
}  // namespace tunebench::search
