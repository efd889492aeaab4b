#include "tunebench/base/clock.h"

#include <ctime>
#include <thread>

#include <fmt/format.h>

namespace tunebench {
namespace {

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::chrono::nanoseconds now() const override {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }
  void sleep_for(std::chrono::nanoseconds duration) override {
    std::this_thread::sleep_for(duration);
  }
  [[nodiscard]] std::int64_t unix_seconds() const override { return std::time(nullptr); }
};

}  // namespace

Clock& system_clock() {
  static SystemClock clock;
  return clock;
}

std::string iso_time(std::int64_t unix_seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(unix_seconds)};
  const std::chrono::sys_days day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::optional<std::int64_t> unix_time(std::string_view iso_time) {
  std::tm time{};
  const std::string text(iso_time);
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time);
  return end != nullptr && *end == '\0' ? std::optional<std::int64_t>(::timegm(&time))
                                        : std::nullopt;
}

}  // namespace tunebench
