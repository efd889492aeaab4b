#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "tunebench/base/clock.h"

namespace tunebench::test_support {

/// A clock that moves only when told to: by advance(), or by the naps that the code under test
/// takes. Not thread-safe.
class FakeClock final : public Clock {
 public:
  explicit FakeClock(std::int64_t unix_seconds = 1'796'113'800) : unix_start_(unix_seconds) {}

  [[nodiscard]] std::chrono::nanoseconds now() const override { return now_; }
  void sleep_for(std::chrono::nanoseconds duration) override {
    naps_.push_back(duration);
    advance(duration);
  }
  [[nodiscard]] std::int64_t unix_seconds() const override {
    return unix_start_ + std::chrono::floor<std::chrono::seconds>(now_ - kStart).count();
  }

  void advance(std::chrono::nanoseconds duration) { now_ += duration; }
  [[nodiscard]] const std::vector<std::chrono::nanoseconds>& naps() const { return naps_; }

 private:
  /// Not zero: code that takes zero for "not yet" must not get away with it.
  static constexpr std::chrono::nanoseconds kStart = std::chrono::hours(1);
  std::chrono::nanoseconds now_ = kStart;
  std::int64_t unix_start_;
  std::vector<std::chrono::nanoseconds> naps_;
};

}  // namespace tunebench::test_support
