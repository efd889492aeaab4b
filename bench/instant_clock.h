#pragma once

#include <chrono>

#include "tunebench/base/clock.h"

namespace tunebench::bench {

/// A clock that does not wait: sleeping moves it.
class InstantClock final : public Clock {
 public:
  [[nodiscard]] std::chrono::nanoseconds now() const override { return now_; }
  void sleep_for(std::chrono::nanoseconds duration) override { now_ += duration; }
  [[nodiscard]] std::int64_t unix_seconds() const override {
    return kStart + std::chrono::floor<std::chrono::seconds>(now_).count();
  }

 private:
  static constexpr std::int64_t kStart = 1'796'113'800;
  std::chrono::nanoseconds now_ = std::chrono::hours(1);
};

}  // namespace tunebench::bench
