#pragma once

#include <cstdint>

/// Streams of random numbers of one seed, far enough apart for a counter each.
namespace tunebench::search::stream {

constexpr std::uint64_t kOrder = std::uint64_t{1} << 48U;
constexpr std::uint64_t kGroups = std::uint64_t{2} << 48U;
constexpr std::uint64_t kHypercube = std::uint64_t{3} << 48U;
constexpr std::uint64_t kSobolShift = std::uint64_t{4} << 48U;
constexpr std::uint64_t kCandidates = std::uint64_t{5} << 48U;
constexpr std::uint64_t kTies = std::uint64_t{6} << 48U;

}  // namespace tunebench::search::stream
