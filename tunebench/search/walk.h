#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/search/searcher.h"
#include "tunebench/search/space.h"

namespace tunebench::search {

/// ado's random_walk: where the points come from, in which order, and how many.
struct WalkConfig {
  enum class Sampler { Selector, Generator };  ///< stored points, or points of the space
  enum class Mode { Random, Sequential, RandomGrouped, SequentialGrouped };
  Sampler sampler = Sampler::Selector;
  Mode mode = Mode::Random;
  std::vector<std::string> grouping = {};
  /// numberEntities; nullopt: "all".
  std::optional<std::int64_t> count = 1;
};

/// By ado's names, as "sequentialgrouped".
std::optional<WalkConfig::Sampler> find_sampler(std::string_view name);
std::optional<WalkConfig::Mode> find_walk_mode(std::string_view name);

/// Everything wrong with the walk; a count above the number of points is told here where that
/// number is known: for a selector, and for a generator over a space without a rule.
/// `stored`: what a selector draws from, in the store's order.
Diagnostics check(const WalkConfig& config, const FiniteSpace& space,
                  std::span<const Point> stored = {});

/// A selector leaves out stored points that the rule forbids and goes through each other one once.
/// `space` must live as long as the searcher. Errors: InvalidInput with all lines of check().
std::unique_ptr<Searcher> make_walk(const WalkConfig& config, const FiniteSpace& space,
                                    std::uint64_t seed, std::span<const Point> stored = {});

}  // namespace tunebench::search
