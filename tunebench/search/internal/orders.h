#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tunebench/search/internal/sequence.h"
#include "tunebench/search/space.h"

namespace tunebench::search {

/// Each names every point of the space once: position -> point, computed, for any size.
/// The space must live as long as the order.

/// Last dimension fastest.
Sequence::Order grid_order();
/// A shuffle by the seed.
Sequence::Order random_order(const FiniteSpace& space, std::uint64_t seed);
/// Points with equal values of the `grouping` dimensions stand together: groups in the order in
/// which the grid meets them, or shuffled; members in grid order.
/// Errors: InvalidInput for a name that is no dimension.
Sequence::Order grouped_order(const FiniteSpace& space, std::span<const std::string> grouping);
Sequence::Order random_grouped_order(const FiniteSpace& space,
                                     std::span<const std::string> grouping, std::uint64_t seed);

}  // namespace tunebench::search
