#include "tunebench/trainer/simulated_run.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/build_info.h"
#include "tunebench/base/error.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/json.h"
#include "tunebench/base/random.h"
#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"

namespace tunebench::trainer {
namespace {

using std::chrono::nanoseconds;

/// Streams of random numbers.
enum Stream : std::uint64_t { kStepNoise, kRunNoise, kStepOutlier, kRunOutlier };
/// A normal factor may come out at 0 or below; no step takes less than this share.
constexpr double kLeastFactor = 0.05;

nanoseconds from_seconds(double seconds) {
  return nanoseconds(static_cast<std::int64_t>(std::llround(std::min(seconds, 1e9) * 1e9)));
}

double factor(const Noise& noise, double z) {
  return noise.normal ? std::max(kLeastFactor, 1.0 + noise.sd * z) : std::exp(noise.sd * z);
}

double real_or(const experiment::Point& point, const char* name, double absent) {
  const auto found = point.inputs.find(name);
  return found == point.inputs.end() || found->second.is_null() ? absent
                                                                : found->second.as_double();
}

std::uint64_t noise_seed(const Simulation& simulation, const Job& job) {
  Json identity = Json::object();
  for (const auto& [name, value] : job.point.inputs) {
    // As in reuse keys: a model plays the same when an input was added that it does not use.
    const experiment::Property* const property = experiment::find_property(name);
    if (property != nullptr && property->later && value == property->default_value) {
      continue;
    }
    identity.set(name, value);
  }
  const std::string digits = sha256_hex(fmt::format("{}\n{}\n{}\n{}", simulation.seed, job.repeat,
                                                    job.attempt, identity.canonical()));
  std::uint64_t seed = 0;
  constexpr std::size_t kDigits = 16;
  std::from_chars(digits.data(), digits.data() + kDigits, seed, 16);
  return seed;
}

bool strikes(const std::vector<std::int64_t>& numbers, std::int64_t number) {
  return numbers.empty() || std::ranges::find(numbers, number) != numbers.end();
}

}  // namespace

SimulatedRun::SimulatedRun(const Simulation& simulation, const Job& job, std::int64_t start_ns,
                           std::int64_t pid)
    : simulation_(simulation),
      job_(job),
      start_ns_(start_ns),
      pid_(pid),
      noise_seed_(noise_seed(simulation, job)) {}

SimulatedMoment SimulatedRun::next(bool stop) {
  if (pending_.empty()) {
    TB_CHECK(stage_ != Stage::Over);
    stage_ == Stage::Load ? load() : train(stop);
  }
  SimulatedMoment moment = std::move(pending_.front());
  pending_.pop_front();
  return moment;
}

void SimulatedRun::say(std::variant<Event, SimulatedLog, SimulatedEnd> what) {
  pending_.push_back({now_, std::move(what)});
}

void SimulatedRun::load() {
  say(Event(HelloEvent{.trainer = "simulated",
                       .version = build_info().version,
                       .pid = pid_,
                       .device = "simulated",
                       .notes = {}}));
  phase_ = "load";
  say(Event(PhaseEvent{.name = phase_, .t = told_time()}));
  const nanoseconds load = from_seconds(simulation_.load_s);
  if (const SimulatedFailure* failure = failure_in(0)) {
    now_ += load / 2;
    fail(*failure);
    return;
  }
  now_ += load;
  const double needed = needed_bytes();
  const std::int64_t limit = simulation_.memory_limit_bytes;
  if (limit > 0 && needed > static_cast<double>(limit)) {
    const auto bytes = static_cast<std::int64_t>(needed);
    say(Event(ErrorEvent{
        .kind = simulation_.memory_kind,
        .message = fmt::format("needs {}, may use {}", format_bytes(bytes), format_bytes(limit)),
        .needed_bytes = bytes,
        .phase = phase_}));
    say(SimulatedEnd{.exit_code = 1});
    stage_ = Stage::Over;
    return;
  }
  phase_ = "train";
  say(Event(PhaseEvent{.name = phase_, .t = told_time()}));
  train_begin_ = now_;
  stage_ = Stage::Train;
}

void SimulatedRun::train(bool stop) {
  const double stop_after_s = real_or(job_.point, "stop_after_seconds", -1);
  const double trained_s = std::chrono::duration<double>(now_ - train_begin_).count();
  const bool all_made = job_.planned_steps > 0 && step_ >= job_.planned_steps;
  const bool time_over = step_ > 0 && stop_after_s >= 0 && trained_s >= stop_after_s;
  if (stop || all_made || time_over) {
    save_and_end();
  } else {
    make_step();
  }
}

void SimulatedRun::save_and_end() {
  tell_memory();
  if (simulation_.save_s > 0) {
    phase_ = "save";
    say(Event(PhaseEvent{.name = phase_, .t = told_time()}));
    now_ += from_seconds(simulation_.save_s);
  }
  say(Event(EndEvent{.status = "ok", .steps = step_}));
  say(SimulatedEnd{});
  stage_ = Stage::Over;
}

void SimulatedRun::make_step() {
  const nanoseconds duration = std::max(nanoseconds(1), from_seconds(step_seconds(step_ + 1)));
  if (const SimulatedFailure* failure = failure_in(step_ + 1)) {
    now_ += duration / 2;
    fail(*failure);
    return;
  }
  StepEvent step;
  step.n = ++step_;
  step.t0 = told_time();
  now_ += duration;
  step.t1 = told_time();
  step.samples =
      job_.point.integer("batch_size") * job_.point.integer("gradient_accumulation_steps");
  step.tokens = step.samples * job_.point.integer("model_max_length");
  step.tokens_nonpad =
      std::max(step.samples, static_cast<std::int64_t>(std::llround(
                                 static_cast<double>(step.tokens) * (1.0 - simulation_.padding))));
  step.tokens_trained = step.tokens_nonpad - step.samples;
  step.loss = 2.0 + std::exp(-static_cast<double>(step_) / 50.0);
  step.grad_norm = 1.0;
  step.learning_rate = real_or(job_.point, "learning_rate", 1e-5);
  say(Event(step));
  if (step_ == 1) {
    tell_memory();
  }
}

void SimulatedRun::fail(const SimulatedFailure& failure) {
  if (!failure.log.empty()) {
    say(SimulatedLog{failure.log});
  }
  if (!failure.error.empty()) {
    say(Event(ErrorEvent{
        .kind = failure.error, .message = failure.message, .phase = phase_, .step = failure.step}));
  }
  say(SimulatedEnd{.exit_code = failure.signal != 0 ? 0 : failure.exit_code,
                   .signal = failure.signal,
                   .hang = failure.hang});
  stage_ = Stage::Over;
}

const SimulatedFailure* SimulatedRun::failure_in(std::int64_t step) const {
  const auto found =
      std::ranges::find_if(simulation_.failures, [&](const SimulatedFailure& failure) {
        return failure.step == step && strikes(failure.runs, job_.repeat) &&
               strikes(failure.attempts, job_.attempt);
      });
  return found == simulation_.failures.end() ? nullptr : &*found;
}

double SimulatedRun::step_seconds(std::int64_t step) const {
  const auto tokens = static_cast<double>(job_.point.integer("batch_size") *
                                          job_.point.integer("gradient_accumulation_steps") *
                                          job_.point.integer("model_max_length"));
  const auto index = static_cast<std::uint64_t>(step);
  const auto before = static_cast<double>(step - 1);
  double seconds = simulation_.step_s + simulation_.token_s * tokens;
  seconds *= 1.0 + simulation_.warmup_extra * std::exp(-before / simulation_.warmup_steps);
  seconds *= std::pow(1.0 + simulation_.drift_per_step, before);
  seconds *= std::pow(1.0 + simulation_.drift_per_run, static_cast<double>(job_.repeat - 1));
  seconds *= factor(simulation_.step_noise, normal(noise_seed_, kStepNoise, index));
  seconds *= factor(simulation_.run_noise, normal(noise_seed_, kRunNoise, 0));
  if (uniform(noise_seed_, kStepOutlier, index) < simulation_.outlier_steps) {
    seconds *= simulation_.outlier_factor;
  }
  if (uniform(noise_seed_, kRunOutlier, 0) < simulation_.outlier_runs) {
    seconds *= simulation_.outlier_factor;
  }
  return seconds;
}

double SimulatedRun::needed_bytes() const {
  const auto tokens =
      static_cast<double>(device_batch_size(job_.point) * job_.point.integer("model_max_length"));
  return static_cast<double>(simulation_.memory_bytes) +
         static_cast<double>(simulation_.memory_token_bytes) * tokens;
}

void SimulatedRun::tell_memory() {
  const auto bytes = static_cast<std::int64_t>(std::min(needed_bytes(), 9e18));
  if (bytes <= 0) {
    return;
  }
  MemoryEvent memory;
  memory.t = told_time();
  (simulation_.memory_kind == "oom_gpu" ? memory.device_peak_bytes : memory.host_peak_bytes) =
      bytes;
  say(Event(memory));
}

}  // namespace tunebench::trainer
