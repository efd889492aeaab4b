#pragma once

#include <cstdint>
#include <memory>

#include "tunebench/search/internal/surrogate.h"
#include "tunebench/search/searcher.h"

namespace tunebench::search {

/// A space-filling start, then always the point that the surrogate scores best.
std::unique_ptr<Searcher> make_model_searcher(const SearchConfig& config, const FiniteSpace& space,
                                              std::uint64_t seed,
                                              std::unique_ptr<Surrogate> surrogate);

}  // namespace tunebench::search
