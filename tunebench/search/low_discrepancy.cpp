#include "tunebench/search/internal/low_discrepancy.h"

#include <algorithm>
#include <cmath>

#include <boost/random/sobol.hpp>

#include "tunebench/base/error.h"
#include "tunebench/base/random.h"
#include "tunebench/search/internal/permutation.h"
#include "tunebench/search/internal/streams.h"

namespace tunebench::search {
namespace {

constexpr std::uint64_t kMostSobolIndex = std::uint64_t{1} << 48U;

/// Indices of the dimensions with at least two values.
std::vector<std::size_t> dimensions_with_choice(const FiniteSpace& space) {
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < space.dimensions().size(); ++i) {
    if (space.dimensions()[i].values.size() > 1) {
      chosen.push_back(i);
    }
  }
  return chosen;
}

/// The 64 bits after the binary point of each coordinate.
std::vector<std::uint64_t> sobol_bits(std::size_t dimensions, std::uint64_t index) {
  TB_CHECK(index < kMostSobolIndex);
  std::vector<std::uint64_t> bits(dimensions, 0);
  if (index > 0) {
    // The engine leaves the origin out.
    boost::random::sobol engine(dimensions);
    engine.seed(index - 1);
    std::ranges::generate(bits, [&engine] { return engine(); });
  }
  return bits;
}

constexpr std::uint64_t kMostSobolDimensions = 3667;

/// Level of `levels` that a fraction of 64 bits falls into.
std::size_t level_of(std::uint64_t fraction, std::size_t levels) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>((Wide{fraction} * levels) >> 64U);
}

}  // namespace

std::vector<double> sobol_point(std::size_t dimensions, std::uint64_t index) {
  TB_CHECK(dimensions >= 1 && dimensions <= kMostSobolDimensions);
  std::vector<double> point;
  for (const std::uint64_t bits : sobol_bits(dimensions, index)) {
    point.push_back(std::ldexp(static_cast<double>(bits >> 11U), -53));
  }
  return point;
}

Sequence::Order sobol_order(const FiniteSpace& space, std::uint64_t seed) {
  const std::vector<std::size_t> chosen = dimensions_with_choice(space);
  if (chosen.size() > kMostSobolDimensions) {
    throw Error(ErrorCode::Unsupported, "method sobol takes at most 3667 dimensions with a choice");
  }
  return [&space, seed, chosen](std::uint64_t position) {
    std::vector<std::size_t> coordinates(space.dimensions().size(), 0);
    if (!chosen.empty()) {
      const std::vector<std::uint64_t> bits = sobol_bits(chosen.size(), position);
      for (std::size_t i = 0; i < chosen.size(); ++i) {
        const auto mask = philox(seed, stream::kSobolShift, i);
        const std::uint64_t shift = (std::uint64_t{mask[0]} << 32U) | mask[1];
        coordinates[chosen[i]] =
            level_of(bits[i] ^ shift, space.dimensions()[chosen[i]].values.size());
      }
    }
    return space.point(coordinates);
  };
}

Sequence::Order hypercube_order(const FiniteSpace& space, std::size_t block, std::uint64_t seed) {
  TB_CHECK(block >= 1);
  const std::vector<std::size_t> chosen = dimensions_with_choice(space);
  return [&space, block, seed, chosen](std::uint64_t position) {
    const std::uint64_t number = position / block;
    std::vector<std::size_t> coordinates(space.dimensions().size(), 0);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
      const std::uint64_t stream = stream::kHypercube + number * chosen.size() + i;
      const Permutation parts(block, seed, stream);
      const std::uint64_t part = parts.at(position % block);
      // Where in its part the point lies; counters above those of the permutation.
      const double within = uniform(seed, stream, (std::uint64_t{1} << 60U) + position % block);
      const std::size_t levels = space.dimensions()[chosen[i]].values.size();
      const double share = (static_cast<double>(part) + within) / static_cast<double>(block);
      coordinates[chosen[i]] =
          std::min(levels - 1, static_cast<std::size_t>(share * static_cast<double>(levels)));
    }
    return space.point(coordinates);
  };
}

std::size_t default_block(const FiniteSpace& space) {
  return std::max<std::size_t>(1, 4 * dimensions_with_choice(space).size());
}

}  // namespace tunebench::search
