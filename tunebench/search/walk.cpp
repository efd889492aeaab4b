#include "tunebench/search/walk.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/search/internal/order_searcher.h"
#include "tunebench/search/internal/permutation.h"
#include "tunebench/search/internal/sequence.h"
#include "tunebench/search/internal/streams.h"

namespace tunebench::search {
namespace {

using Mode = WalkConfig::Mode;

constexpr std::array<std::pair<Mode, std::string_view>, 4> kModes = {
    {{Mode::Random, "random"},
     {Mode::Sequential, "sequential"},
     {Mode::RandomGrouped, "randomgrouped"},
     {Mode::SequentialGrouped, "sequentialgrouped"}}};

Method method_of(Mode mode) {
  switch (mode) {
    case Mode::Sequential:
      return Method::Grid;
    case Mode::RandomGrouped:
      return Method::RandomGrouped;
    case Mode::SequentialGrouped:
      return Method::Grouped;
    case Mode::Random:
      break;
  }
  return Method::Random;
}

SearchConfig search_config(const WalkConfig& config) {
  SearchConfig search;
  search.method = method_of(config.mode);
  search.grouping = config.grouping;
  return search;
}

/// Each allowed stored point once.
std::vector<Point> members_of(const FiniteSpace& space, std::span<const Point> stored) {
  std::vector<Point> members;
  PointSet known;
  for (const Point point : stored) {
    if (space.allowed(point) && known.insert(point).second) {
      members.push_back(point);
    }
  }
  return members;
}

std::vector<Point> shuffled(const std::vector<Point>& points, std::uint64_t seed,
                            std::uint64_t stream) {
  std::vector<Point> result;
  if (!points.empty()) {
    const Permutation shuffle(points.size(), seed, stream);
    for (std::uint64_t i = 0; i < points.size(); ++i) {
      result.push_back(points[shuffle.at(i)]);
    }
  }
  return result;
}

/// Members in groups of equal grouping values; groups in first-appearance order or shuffled.
std::vector<Point> grouped(const FiniteSpace& space, const std::vector<Point>& members,
                           const std::vector<std::string>& grouping,
                           std::optional<std::uint64_t> seed) {
  std::map<std::vector<std::size_t>, std::size_t> places;
  std::vector<std::vector<Point>> groups;
  for (const Point member : members) {
    const std::vector<std::size_t> coordinates = space.coordinates(member);
    std::vector<std::size_t> key;
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
      if (std::ranges::find(grouping, space.dimensions()[i].name) != grouping.end()) {
        key.push_back(coordinates[i]);
      }
    }
    const auto place = places.try_emplace(std::move(key), groups.size()).first;
    if (place->second == groups.size()) {
      groups.emplace_back();
    }
    groups[place->second].push_back(member);
  }
  std::vector<Point> order;
  for (std::uint64_t i = 0; i < groups.size(); ++i) {
    const std::uint64_t group = seed ? Permutation(groups.size(), *seed, stream::kGroups).at(i) : i;
    order.insert(order.end(), groups[group].begin(), groups[group].end());
  }
  return order;
}

std::vector<Point> selected(const WalkConfig& config, const FiniteSpace& space, std::uint64_t seed,
                            std::span<const Point> stored) {
  const std::vector<Point> members = members_of(space, stored);
  switch (config.mode) {
    case Mode::Random:
      return shuffled(members, seed, stream::kOrder);
    case Mode::RandomGrouped:
      return grouped(space, members, config.grouping, seed);
    case Mode::SequentialGrouped:
      return grouped(space, members, config.grouping, std::nullopt);
    case Mode::Sequential:
      break;
  }
  return members;
}

}  // namespace

std::optional<WalkConfig::Sampler> find_sampler(std::string_view name) {
  if (name == "selector") {
    return WalkConfig::Sampler::Selector;
  }
  if (name == "generator") {
    return WalkConfig::Sampler::Generator;
  }
  return std::nullopt;
}

std::optional<WalkConfig::Mode> find_walk_mode(std::string_view name) {
  for (const auto& [mode, known] : kModes) {
    if (known == name) {
      return mode;
    }
  }
  return std::nullopt;
}

Diagnostics check(const WalkConfig& config, const FiniteSpace& space,
                  std::span<const Point> stored) {
  Diagnostics problems = check(search_config(config), space);
  if (!config.count) {
    return problems;
  }
  if (*config.count < 1) {
    problems.push_back(
        {{}, fmt::format("numberEntities must be at least 1 or all, not {}", *config.count), {}});
    return problems;
  }
  const auto wanted = static_cast<std::uint64_t>(*config.count);
  if (config.sampler == WalkConfig::Sampler::Selector) {
    const std::uint64_t known = members_of(space, stored).size();
    if (wanted > known) {
      problems.push_back({{},
                          fmt::format("numberEntities is {}, but the store has {} points of this "
                                      "space",
                                      wanted, known),
                          {}});
    }
  } else if (!space.has_rule() && wanted > space.size()) {
    problems.push_back(
        {{},
         fmt::format("numberEntities is {}, but the space has {} points", wanted, space.size()),
         {}});
  }
  return problems;
}

std::unique_ptr<Searcher> make_walk(const WalkConfig& config, const FiniteSpace& space,
                                    std::uint64_t seed, std::span<const Point> stored) {
  if (const Diagnostics problems = check(config, space, stored); !problems.empty()) {
    std::vector<std::string> lines;
    for (const Diagnostic& problem : problems) {
      lines.push_back(problem.line());
    }
    throw Error(ErrorCode::InvalidInput, join(lines, "\n"));
  }
  std::optional<std::uint64_t> most;
  if (config.count) {
    most = static_cast<std::uint64_t>(*config.count);
  }
  const SearchConfig search = search_config(config);
  if (config.sampler == WalkConfig::Sampler::Generator) {
    return make_order_searcher(search, make_sequence(search, space, seed), most);
  }
  std::vector<Point> points = selected(config, space, seed, stored);
  const std::uint64_t count = points.size();
  auto sequence = std::make_unique<Sequence>(
      space, [points = std::move(points)](std::uint64_t position) { return points[position]; },
      count);
  return make_order_searcher(search, std::move(sequence), most);
}

}  // namespace tunebench::search
