#pragma once

#include <cstdint>

namespace tunebench::search {

/// A shuffle of 0 .. size-1 that is computed, not kept: any element alone, in constant memory.
/// Source: Luby and Rackoff 1988 (a Feistel network of four or more rounds is a pseudorandom
/// permutation); Black and Rogaway 2002, "Ciphers with arbitrary finite domains", cycle walking.
class Permutation {
 public:
  /// size >= 1 and at most 2^62. `stream` separates uses of one seed.
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t stream);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Errors: Internal when position >= size.
  [[nodiscard]] std::uint64_t at(std::uint64_t position) const;

 private:
  [[nodiscard]] std::uint64_t encrypt(std::uint64_t value) const;

  std::uint64_t size_;
  std::uint64_t seed_;
  std::uint64_t stream_;
  std::uint32_t half_bits_ = 1;
};

}  // namespace tunebench::search
