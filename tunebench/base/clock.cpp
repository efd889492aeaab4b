#include "tunebench/base/clock.h"

#include <ctime>
#include <thread>

#include <fmt/format.h>

#include "tunebench/base/text.h"

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

std::optional<std::int64_t> parse_iso_time(std::string_view text) {
  constexpr std::string_view kShape = "0000-00-00T00:00:00Z";
  if (text.size() != kShape.size()) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kShape[i] == '0' ? !digit : text[i] != kShape[i]) {
      return std::nullopt;
    }
  }
  const auto number = [text](std::size_t at, std::size_t count) {
    return static_cast<int>(*parse_int(text.substr(at, count)));
  };
  const std::chrono::year_month_day date(std::chrono::year(number(0, 4)),
                                         std::chrono::month(static_cast<unsigned>(number(5, 2))),
                                         std::chrono::day(static_cast<unsigned>(number(8, 2))));
  if (!date.ok() || number(11, 2) > 23 || number(14, 2) > 59 || number(17, 2) > 59) {
    return std::nullopt;
  }
  const std::chrono::sys_seconds time =
      std::chrono::sys_days(date) + std::chrono::hours(number(11, 2)) +
      std::chrono::minutes(number(14, 2)) + std::chrono::seconds(number(17, 2));
  return time.time_since_epoch().count();
}

}  // namespace tunebench
