#include "tunebench/measure/window.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tunebench::measure {
namespace {

/// Steps of each of the two medians that are compared.
constexpr std::size_t kGroup = 5;
/// A run that ends with fewer steps after its warm-up is treated as too short to settle: three
/// steps of warm-up and all others timed say more than a window of one step.
constexpr std::size_t kFewestTimed = 5;
constexpr std::size_t kShortWarmup = 3;

double time_per_token(const StepCounts& step) {
  return static_cast<double>(step.duration_ns) /
         static_cast<double>(std::max<std::int64_t>(step.tokens, 1));
}

double median_time(const StepCounts* first) {
  std::array<double, kGroup> times{};
  std::transform(first, first + kGroup, times.begin(), time_per_token);
  std::ranges::nth_element(times, times.begin() + kGroup / 2);
  return times[kGroup / 2];
}

}  // namespace

StepCounts& StepCounts::operator+=(const StepCounts& other) {
  duration_ns += other.duration_ns;
  samples += other.samples;
  tokens += other.tokens;
  tokens_nonpad += other.tokens_nonpad;
  tokens_trained += other.tokens_trained;
  return *this;
}

StepCounts counts_of(const trainer::StepEvent& step) {
  return {.duration_ns = step.t1 - step.t0,
          .samples = step.samples,
          .tokens = step.tokens,
          .tokens_nonpad = step.tokens_nonpad,
          .tokens_trained = step.tokens_trained};
}

double median_step_s(const std::vector<StepCounts>& steps) {
  std::vector<double> durations;
  for (const StepCounts& step : steps) {
    durations.push_back(step.seconds());
  }
  if (durations.empty()) {
    return 0;
  }
  std::ranges::sort(durations);
  const std::size_t middle = durations.size() / 2;
  return durations.size() % 2 == 1 ? durations[middle]
                                   : (durations[middle - 1] + durations[middle]) / 2;
}

std::string_view warmup_name(Warmup warmup) {
  switch (warmup) {
    case Warmup::Steady:
      return "steady";
    case Warmup::Capped:
      return "capped";
    case Warmup::Short:
      return "short";
    case Warmup::AutoStop:
      return "auto_stop";
    case Warmup::None:
      break;
  }
  return "none";
}

bool bounds_own_length(const experiment::Point& point) {
  const auto number = [&point](const char* name, double absent) {
    const auto found = point.inputs.find(name);
    return found == point.inputs.end() || found->second.is_null() ? absent
                                                                  : found->second.as_double();
  };
  const auto method = point.inputs.find("auto_stop_method");
  if (method != point.inputs.end() && !method->second.is_null()) {
    return false;
  }
  return number("max_steps", -1) > 0 || number("num_train_epochs", 1) != 1 ||
         number("stop_after_seconds", -1) >= 0;
}

void Window::add(const trainer::StepEvent& step) {
  if (steps_.empty()) {
    first_t0_ = step.t0;
  }
  steps_.push_back(counts_of(step));
  spans_.push_back({step.t0, step.t1});
  all_steps_ns_ += steps_.back().duration_ns;
  if (complete_) {
    return;
  }
  if (!warm_) {
    end_warmup_if_due(step.t1);
    return;
  }
  timed_ += steps_.back();
  if (!bounded_ && timed_steps() >= protocol_.min_timed_steps &&
      timed_s() >= protocol_.min_timed_s) {
    complete_ = true;
    end_ = steps_.size();
  }
}

void Window::end_warmup_if_due(std::int64_t last_t1) {
  if (protocol_.fixed_warmup_s.has_value()) {
    warm_ = fixed_warmup_over();
    capped_ = warm_;
    warmup_count_ = warm_ ? steps_.size() : 0;
    return;
  }
  if (steps() < protocol_.min_warmup_steps) {
    return;
  }
  const double warmed_s = static_cast<double>(last_t1 - first_t0_) / 1e9;
  const bool at_limit = steps() >= protocol_.max_warmup_steps || warmed_s >= protocol_.max_warmup_s;
  const bool steady = settled();
  if (steady || at_limit) {
    warm_ = true;
    capped_ = !steady;
    warmup_count_ = steps_.size();
  }
}

bool Window::fixed_warmup_over() const {
  return static_cast<double>(all_steps_ns_) / 1e9 > *protocol_.fixed_warmup_s;
}

bool Window::settled() const {
  if (steps_.size() < 2 * kGroup) {
    return false;
  }
  const double last = median_time(&steps_[steps_.size() - kGroup]);
  const double before = median_time(&steps_[steps_.size() - 2 * kGroup]);
  return last == before || std::abs(last - before) < protocol_.steady * before;
}

std::int64_t Window::timed_steps() const {
  return warm_ ? static_cast<std::int64_t>((complete_ ? end_ : steps_.size()) - warmup_count_) : 0;
}

Window::Result Window::result() const {
  Result split;
  const std::size_t count = complete_ ? end_ : steps_.size();
  std::size_t warmup = warmup_count_;
  if (count == 0) {
    return split;
  }
  if (complete_ && protocol_.fixed_warmup_s.has_value()) {
    split.warmup = Warmup::AutoStop;
  } else if (warm_ && (complete_ || count - warmup >= kFewestTimed)) {
    split.warmup = capped_ ? Warmup::Capped : Warmup::Steady;
  } else {
    warmup = std::min(kShortWarmup, count - 1);
    split.warmup = warmup == 0 ? Warmup::None : Warmup::Short;
  }
  const auto middle = steps_.begin() + static_cast<std::ptrdiff_t>(warmup);
  split.warmup_steps.assign(steps_.begin(), middle);
  split.timed_steps.assign(middle, steps_.begin() + static_cast<std::ptrdiff_t>(count));
  split.begin_ns = spans_[warmup].begin_ns;
  split.end_ns = spans_[count - 1].end_ns;
  return split;
}

}  // namespace tunebench::measure
