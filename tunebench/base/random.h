#pragma once

#include <array>
#include <cstdint>

namespace tunebench {

/// Counter-based random numbers: the value depends on (seed, stream, index) only, so any element
/// can be drawn alone, in any order, on any thread, with the same bits.
/// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", Philox-4x32-10.
std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

/// In [0, 1), 53 bits.
double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

/// Standard normal by Box-Muller.
double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

/// In [0, bound). bound > 0.
std::uint64_t uniform_int(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                          std::uint64_t bound);

}  // namespace tunebench
