#include "tunebench/base/random.h"

#include <cmath>
#include <numbers>

#include "tunebench/base/error.h"

namespace tunebench {
namespace {

std::uint32_t low(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
std::uint32_t high(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32U);
}

std::uint64_t joined(std::uint32_t first, std::uint32_t second) {
  return (std::uint64_t{first} << 32U) | second;
}

/// [0, 1) in steps of 2^-53.
double unit(std::uint64_t bits) {
  return static_cast<double>(bits >> 11U) * 0x1p-53;
}

}  // namespace

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
  constexpr int kRounds = 10;
  std::array<std::uint32_t, 4> x = {low(index), high(index), low(stream), high(stream)};
  std::uint32_t key0 = low(seed);
  std::uint32_t key1 = high(seed);
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t product0 = kMultiplier0 * x[0];
    const std::uint64_t product1 = kMultiplier1 * x[2];
    x = {high(product1) ^ x[1] ^ key0, low(product1), high(product0) ^ x[3] ^ key1, low(product0)};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return x;
}

double uniform(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const std::array<std::uint32_t, 4> x = philox(seed, stream, index);
  return unit(joined(x[0], x[1]));
}

double normal(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const std::array<std::uint32_t, 4> x = philox(seed, stream, index);
  const double radius = std::sqrt(-2.0 * std::log(1.0 - unit(joined(x[0], x[1]))));
  return radius * std::cos(2.0 * std::numbers::pi * unit(joined(x[2], x[3])));
}

std::uint64_t uniform_int(std::uint64_t seed, std::uint64_t stream, std::uint64_t index,
                          std::uint64_t bound) {
  TB_CHECK(bound > 0);
  // The upper half of bits * bound: no division, and no value is likelier than another by more
  // than bound / 2^64.
  __extension__ using Wide = unsigned __int128;
  const std::array<std::uint32_t, 4> x = philox(seed, stream, index);
  return static_cast<std::uint64_t>((Wide{joined(x[0], x[1])} * bound) >> 64U);
}

}  // namespace tunebench
