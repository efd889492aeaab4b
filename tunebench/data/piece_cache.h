#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tunebench::data {

/// Remembers the ids of pieces. Any number of threads may read and write without a lock: an entry
/// is never changed or removed once it is in, and a piece that finds its places taken stays out.
class PieceCache {
 public:
  PieceCache();
  ~PieceCache();
  PieceCache(const PieceCache&) = delete;
  PieceCache& operator=(const PieceCache&) = delete;

  /// Longer pieces are rarely seen twice.
  static constexpr std::size_t kLongest = 48;

  /// Appends the ids of `piece` and returns true when they are known.
  bool find(std::string_view piece, std::vector<std::int32_t>& ids) const;
  void insert(std::string_view piece, const std::int32_t* ids, std::size_t count);
  /// Forgets everything. Not while other threads use it.
  void clear();

 private:
  struct Entry;
  static constexpr std::size_t kSlots = std::size_t{1} << 16U;
  static constexpr std::size_t kTries = 4;
  std::vector<std::atomic<const Entry*>> slots_;
};

}  // namespace tunebench::data
