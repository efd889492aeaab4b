#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "tunebench/search/internal/sequence.h"
#include "tunebench/search/searcher.h"

namespace tunebench::search {

/// The fixed order that a method stands for; what a model or a ladder starts from, too.
/// Errors: Internal for a method that decides by results.
std::unique_ptr<Sequence> make_sequence(const SearchConfig& config, const FiniteSpace& space,
                                        std::uint64_t seed);

/// Goes through a fixed order, `config.repeats` times a point. `most`: no further than that many
/// different points.
std::unique_ptr<Searcher> make_order_searcher(const SearchConfig& config,
                                              std::unique_ptr<Sequence> sequence,
                                              std::optional<std::uint64_t> most = {});

}  // namespace tunebench::search
