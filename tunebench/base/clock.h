#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tunebench {

/// Time as the program sees it; tests put a fake in its place.
class Clock {
 public:
  virtual ~Clock() = default;
  /// CLOCK_MONOTONIC.
  [[nodiscard]] virtual std::chrono::nanoseconds now() const = 0;
  virtual void sleep_for(std::chrono::nanoseconds duration) = 0;
  /// Seconds since 1970-01-01 UTC.
  [[nodiscard]] virtual std::int64_t unix_seconds() const = 0;
};

/// The machine's clock. Thread-safe.
Clock& system_clock();

/// 2026-12-01T08:30:00Z
std::string iso_time(std::int64_t unix_seconds);
/// What iso_time wrote, back; nullopt for any other text.
std::optional<std::int64_t> parse_iso_time(std::string_view text);

}  // namespace tunebench
