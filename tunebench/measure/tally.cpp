#include "tunebench/measure/tally.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tunebench::measure {
namespace {

std::optional<std::int64_t> positive_input(const experiment::Point& point, const char* name) {
  const auto found = point.inputs.find(name);
  if (found == point.inputs.end() || !found->second.is_int() || found->second.as_int() < 1) {
    return std::nullopt;
  }
  return found->second.as_int();
}

/// More than any step holds, and small enough to be added up.
constexpr std::int64_t kMostTokens = 1'000'000'000'000;

bool not_finite(const std::optional<double>& value) {
  return value.has_value() && !std::isfinite(*value);
}

}  // namespace

Tally::Tally(const experiment::Point& point)
    : length_limit_(positive_input(point, "model_max_length")) {
  const std::optional<std::int64_t> batch = positive_input(point, "batch_size");
  const std::optional<std::int64_t> accumulation =
      positive_input(point, "gradient_accumulation_steps");
  if (batch.has_value() && accumulation.has_value()) {
    samples_limit_ = *batch * *accumulation;
  }
}

void Tally::add(const trainer::StepEvent& step) {
  if (contradiction_.empty()) {
    contradiction_ = check(step);
  }
  // Counts that cannot be are not added up: any number may stand there.
  if (contradiction_.empty()) {
    const StepCounts counts = counts_of(step);
    totals_ += counts;
    longest_ns_ = std::max(longest_ns_, counts.duration_ns);
  }
  ++steps_;
  // The mean over no trained token is not a number either, and no fault.
  const bool bad_loss = step.tokens_trained > 0 && not_finite(step.loss);
  if (bad_loss || not_finite(step.grad_norm)) {
    if (nonfinite_ == 0) {
      first_nonfinite_ = step.n;
      nonfinite_what_ = bad_loss ? "loss" : "gradient norm";
    }
    ++nonfinite_;
  }
  zero_losses_ += step.loss.has_value() && *step.loss == 0.0 ? 1 : 0;
  if (!first_.has_value()) {
    first_ = step;
  }
  last_ = step;
}

void Tally::end(const trainer::EndEvent& end) {
  if (contradiction_.empty() && end.steps != steps_) {
    contradiction_ =
        fmt::format("the end event tells {} steps, {} step events came", end.steps, steps_);
  }
}

double Tally::train_s() const {
  return first_.has_value() ? static_cast<double>(last_->t1 - first_->t0) / 1e9 : 0.0;
}

std::string Tally::check(const trainer::StepEvent& step) const {
  const auto says = [&step](std::string text) { return fmt::format("step {}: {}", step.n, text); };
  if (step.n != steps_ + 1) {
    return says(fmt::format("the event that came as number {}", steps_ + 1));
  }
  if (step.t0 < 0) {
    return says(fmt::format("t0 {} is negative", step.t0));
  }
  if (step.t1 <= step.t0) {
    return says(fmt::format("t1 {} is not after t0 {}", step.t1, step.t0));
  }
  if (last_.has_value() && step.t0 < last_->t1) {
    return says(fmt::format("t0 {} is before the end of the step before, {}", step.t0, last_->t1));
  }
  if (step.samples < 1) {
    return says(fmt::format("samples {} is not positive", step.samples));
  }
  if (step.tokens_trained < 0) {
    return says(fmt::format("tokens_trained {} is negative", step.tokens_trained));
  }
  if (step.tokens_trained > step.tokens_nonpad) {
    return says(fmt::format("tokens_trained {} exceeds tokens_nonpad {}", step.tokens_trained,
                            step.tokens_nonpad));
  }
  if (step.tokens_nonpad > step.tokens) {
    return says(fmt::format("tokens_nonpad {} exceeds tokens {}", step.tokens_nonpad, step.tokens));
  }
  if (step.tokens > kMostTokens || step.samples > kMostTokens) {
    return says(fmt::format("samples {} or tokens {} is more than a step can hold", step.samples,
                            step.tokens));
  }
  if (samples_limit_.has_value() && step.samples > *samples_limit_) {
    return says(fmt::format("samples {} exceeds batch_size x gradient_accumulation_steps, {}",
                            step.samples, *samples_limit_));
  }
  if (length_limit_.has_value() && step.tokens > step.samples * *length_limit_) {
    return says(fmt::format("tokens {} exceeds {} samples of model_max_length {}", step.tokens,
                            step.samples, *length_limit_));
  }
  return "";
}

}  // namespace tunebench::measure
