#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/engine/core/view.h"

namespace tunebench::engine {

/// Planned memory with names. Three life times:
///  - persistent: from set-up to the end (weights, gradients, moments);
///  - saved: activations kept from forward to backward, taken once at set-up;
///  - scratch: a stack inside one call, released by Scratch's destructor.
///
/// An arena made with plan_only hands out views without memory and only counts, so that the same
/// code that takes memory also plans it: what is planned is what is used.
/// Every block is aligned to 64 bytes. Not thread-safe.
class Arena {
 public:
  /// plan_only: count, allocate nothing.
  static Arena plan_only();
  /// Reserves `persistent_bytes` and `scratch_bytes` at once, as counted by a plan.
  /// Errors: OutOfMemory with both numbers.
  static Arena reserve(std::int64_t persistent_bytes, std::int64_t scratch_bytes);
  ~Arena();
  Arena(Arena&&) noexcept;
  Arena& operator=(Arena&&) noexcept;

  [[nodiscard]] bool planning() const;

  /// Contiguous [rows, cols], zeroed. `part` groups bytes in the report: "weights", "gradients",
  /// "optimizer", "activations".
  View persistent(std::string_view part, std::int64_t rows, std::int64_t cols, DType dtype);

  /// Scratch stack, used through Scratch below. Contents are undefined.
  View push_scratch(std::int64_t rows, std::int64_t cols, DType dtype);
  [[nodiscard]] std::int64_t scratch_mark() const;
  void pop_scratch(std::int64_t mark);

  struct Part {
    std::string name;
    std::int64_t bytes = 0;
  };
  /// Bytes by part; "scratch" is the deepest the stack has been.
  [[nodiscard]] std::vector<Part> report() const;
  [[nodiscard]] std::int64_t persistent_bytes() const;
  [[nodiscard]] std::int64_t scratch_high_water() const;
  /// persistent_bytes() + scratch_high_water()
  [[nodiscard]] std::int64_t high_water() const;

 private:
  Arena();
  struct State;
  std::unique_ptr<State> state_;
};

/// Gives back on destruction all scratch taken from `arena` since it was made.
class Scratch {
 public:
  explicit Scratch(Arena& arena) : arena_(arena), mark_(arena.scratch_mark()) {}
  ~Scratch() { arena_.pop_scratch(mark_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  View take(std::int64_t rows, std::int64_t cols, DType dtype) {
    return arena_.push_scratch(rows, cols, dtype);
  }

 private:
  Arena& arena_;
  std::int64_t mark_;
};

}  // namespace tunebench::engine
