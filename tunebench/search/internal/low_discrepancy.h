#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tunebench/search/internal/sequence.h"
#include "tunebench/search/space.h"

namespace tunebench::search {

/// Coordinates in [0, 1) of the point `index` of the Sobol sequence, the first being the origin;
/// direction numbers of Joe and Kuo 2008. dimensions: 1 to 3667. index < 2^48.
std::vector<double> sobol_point(std::size_t dimensions, std::uint64_t index);

/// Points of a Sobol sequence whose bits are flipped by a seeded mask for each dimension ("digital
/// shift", which keeps its nets), mapped onto the values. Dimensions without a choice take none.
Sequence::Order sobol_order(const FiniteSpace& space, std::uint64_t seed);

/// Latin hypercubes of `block` points, one after the other: in each, every dimension is cut into
/// `block` equal parts of which each is used once.
/// Source: McKay, Beckman and Conover 1979.
Sequence::Order hypercube_order(const FiniteSpace& space, std::size_t block, std::uint64_t seed);

/// Four times the number of dimensions with a choice, at least 1.
std::size_t default_block(const FiniteSpace& space);

}  // namespace tunebench::search
