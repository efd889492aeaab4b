#include "tunebench/report/live_line.h"

#include <algorithm>

#include <fmt/core.h>

#include "tunebench/base/text.h"

namespace tunebench::report {

namespace {

constexpr std::size_t kBarWidth = 16;

std::string bar(const LiveState& state) {
  if (state.total <= 0) {
    return "";
  }
  double done = static_cast<double>(state.number - 1);
  if (state.steps_wanted > 0 && state.phase == "timed") {
    done +=
        std::min(1.0, static_cast<double>(state.steps) / static_cast<double>(state.steps_wanted));
  }
  const double share = std::clamp(done / static_cast<double>(state.total), 0.0, 1.0);
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBarWidth) + 0.5);
  return "[" + std::string(filled, '#') + std::string(kBarWidth - filled, '.') + "] ";
}

/// The first `width` columns of UTF-8 text.
std::string cut(const std::string& text, std::size_t width) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
    if (starts && columns == width) {
      return text.substr(0, i);
    }
    columns += starts ? 1 : 0;
  }
  return text;
}

}  // namespace

std::string short_rate(double tokens_per_s) {
  if (tokens_per_s >= 999'950.0) {
    return fmt::format("{:.1f}M", tokens_per_s / 1e6);
  }
  if (tokens_per_s >= 9'999.5) {
    return fmt::format("{:.1f}k", tokens_per_s / 1e3);
  }
  return tokens_per_s >= 99.95 ? fmt::format("{:.0f}", tokens_per_s)
                               : fmt::format("{:.1f}", tokens_per_s);
}

std::string measurement_title(const LiveState& state) {
  std::string title = fmt::format("{}/{}", state.number, state.total);
  if (!state.point.empty()) {
    title += "  " + state.point;
  }
  if (state.rounds > 1) {
    title += fmt::format(" r{}", state.round);
  }
  if (state.attempt > 1) {
    title += fmt::format(" try {}", state.attempt);
  }
  return title;
}

std::string live_line(const LiveState& state, std::size_t width) {
  std::string line = bar(state) + measurement_title(state);
  if (!state.phase.empty()) {
    line += "  " + state.phase;
  }
  if (state.steps_wanted > 0) {
    line += fmt::format(" {}/{} steps", state.steps, state.steps_wanted);
  } else if (state.steps > 0) {
    line += fmt::format(" {} steps", state.steps);
  }
  if (state.tokens_per_s > 0) {
    line += fmt::format("  {} tok/s", short_rate(state.tokens_per_s));
  }
  if (state.seconds_left > 0) {
    line += fmt::format("  {} left", format_duration(state.seconds_left));
  }
  return cut(printable(line), width);
}

}  // namespace tunebench::report
