#include "tunebench/cli/progress_view.h"

#include <algorithm>
#include <ostream>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/report/live_line.h"

namespace tunebench::cli {

namespace {

constexpr std::chrono::milliseconds kLiveInterval{100};
constexpr std::chrono::seconds kPlainInterval{30};

report::LiveState state_of(const campaign::Position& position, const campaign::Plan& plan) {
  return {.number = position.number,
          .total = position.total,
          .point = position.point->title,
          .round = position.round,
          .rounds = std::max(plan.repeats.count, position.round),
          .attempt = position.attempt};
}

std::string result_words(const record::Record& record) {
  const std::optional<double> rate = record.number("tokens_per_s");
  const std::optional<double> steps = record.number("steps");
  const std::optional<double> timed_s = record.number("timed_s");
  if (!rate || !steps || !timed_s) {
    return std::string(record::outcome_name(record.status));
  }
  return fmt::format("{} tok/s, {} steps in {}", report::short_rate(*rate), *steps,
                     format_duration(*timed_s));
}

}  // namespace

void ProgressView::clear_live_line() {
  if (line_is_live_) {
    console_.err << "\r\x1b[K";
    line_is_live_ = false;
  }
}

void ProgressView::say(const std::string& text) {
  if (!quiet_) {
    clear_live_line();
    console_.err << text << "\n" << std::flush;
  }
}

void ProgressView::started(const store::Run& run, std::int64_t reused, std::int64_t kept) {
  const std::int64_t points =
      plan_.search != nullptr ? plan_.search_points : std::ssize(plan_.points);
  const campaign::Repeats& wanted = plan_.repeats;
  const std::string repeats = plan_.stability ? fmt::format(" x {} runs", wanted.count)
                              : wanted.until
                                  ? fmt::format(" x {} to {} repeats", wanted.count, wanted.most)
                              : wanted.count > 1 ? fmt::format(" x {} repeats", wanted.count)
                                                 : "";
  const std::string search =
      plan_.search == nullptr ? "" : fmt::format("search {}, at most ", plan_.search_method);
  say(fmt::format("plan: {}{} {}{}, {} reused{}", search, points, points == 1 ? "point" : "points",
                  repeats, reused, kept > 0 ? fmt::format(", {} measured before", kept) : ""));
  const bool all_known = reused + kept >= plan_.measurements();
  say(fmt::format("run : {}  ({}){}", run.name, plan_.machine.hardware_class,
                  all_known ? "" : "  ctrl-C is safe"));
}

void ProgressView::stale(const campaign::StaleResults& results) {
  say(results.text(plan_));
}

void ProgressView::waiting(const campaign::Waiting& waiting) {
  const std::chrono::nanoseconds now = clock_.now();
  const std::string text =
      fmt::format("waiting for {} {} of {} on {}", waiting.points,
                  waiting.points == 1 ? "point" : "points", waiting.run, printable(waiting.host));
  if (quiet_ || (text == waited_for_ && !console_.live && now - last_shown_ < kPlainInterval)) {
    return;
  }
  waited_for_ = text;
  last_shown_ = now;
  if (console_.live) {
    console_.err << "\r" << text << "\x1b[K" << std::flush;
    line_is_live_ = true;
  } else {
    say(text);
  }
}

void ProgressView::measuring(const campaign::Position& position) {
  last_shown_ = clock_.now();
  if (!console_.live) {
    say(report::measurement_title(state_of(position, plan_)) + "  started");
  }
}

void ProgressView::progress(const campaign::Position& position, const measure::Progress& progress,
                            double seconds_left) {
  const std::chrono::nanoseconds now = clock_.now();
  const std::chrono::nanoseconds interval =
      console_.live ? std::chrono::nanoseconds(kLiveInterval) : kPlainInterval;
  if (quiet_ || now - last_shown_ < interval) {
    return;
  }
  last_shown_ = now;
  report::LiveState state = state_of(position, plan_);
  state.phase = progress.phase;
  state.steps = progress.steps;
  state.steps_wanted = progress.steps_wanted;
  state.tokens_per_s = progress.tokens_per_s_now;
  state.seconds_left = seconds_left;
  if (console_.live) {
    console_.err << "\r" << report::live_line(state, console_.width - 1) << "\x1b[K" << std::flush;
    line_is_live_ = true;
  } else {
    say(report::live_line(state, console_.width));
  }
}

void ProgressView::measured(const campaign::Position& position, const record::Record& record,
                            bool again) {
  const std::string title = report::measurement_title(state_of(position, plan_));
  if (record.is_valid()) {
    say(title + "  " + result_words(record));
    return;
  }
  std::string text = fmt::format("{}  {}", title, record::outcome_name(record.status));
  if (!record.reason.empty()) {
    text += ": " + printable(record.reason);
  }
  if (record.status != record::Outcome::Interrupted) {
    text += again                  ? " - tried again"
            : plan_.stability      ? ""
            : position.attempt > 1 ? " - given up"
                                   : " - not tried again";
  }
  say(text);
  if (!record.log_path.empty()) {
    say("     log: tunebench logs " + record.run);
  }
}

}  // namespace tunebench::cli
