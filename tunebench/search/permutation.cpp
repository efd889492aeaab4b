#include "tunebench/search/internal/permutation.h"

#include "tunebench/base/error.h"
#include "tunebench/base/random.h"

namespace tunebench::search {
namespace {

constexpr std::uint64_t kFeistelRounds = 6;

}  // namespace

Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t stream)
    : size_(size), seed_(seed), stream_(stream) {
  TB_CHECK(size >= 1 && size <= (std::uint64_t{1} << 62U));
  while ((std::uint64_t{1} << (2 * half_bits_)) < size) {
    ++half_bits_;
  }
}

std::uint64_t Permutation::encrypt(std::uint64_t value) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = value >> half_bits_;
  std::uint64_t right = value & mask;
  for (std::uint64_t round = 0; round < kFeistelRounds; ++round) {
    const std::uint64_t mixed = philox(seed_, stream_, (round << 32U) | right)[0];
    const std::uint64_t next = left ^ (mixed & mask);
    left = right;
    right = next;
  }
  return (left << half_bits_) | right;
}

std::uint64_t Permutation::at(std::uint64_t position) const {
  TB_CHECK(position < size_);
  // The domain of the network is at most four times the size, so few steps lead back into it.
  std::uint64_t value = encrypt(position);
  while (value >= size_) {
    value = encrypt(value);
  }
  return value;
}

}  // namespace tunebench::search
