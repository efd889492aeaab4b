#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tunebench/search/searcher.h"

namespace tunebench::search {

/// Steps of each rung: min, min * eta, ... and max.
std::vector<std::int64_t> rungs(std::int64_t min_budget, std::int64_t max_budget, std::int64_t eta);

/// Looks from the upper rungs down for a point among the best 1/eta of its rung that has not been
/// promoted; when there is none, a new point starts on the first rung. Never waits for a rung to
/// fill, so any number of processes can work. When all points were tried on a rung, at least its
/// best goes on.
/// Source: Li et al. 2020, "A system for massively parallel hyperparameter tuning" (ASHA).
std::unique_ptr<Searcher> make_successive_halving(const SearchConfig& config,
                                                  const FiniteSpace& space, std::uint64_t seed);

}  // namespace tunebench::search
