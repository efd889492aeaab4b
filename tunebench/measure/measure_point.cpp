#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

#include <sys/resource.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/log.h"
#include "tunebench/base/secrets.h"
#include "tunebench/base/text.h"
#include "tunebench/measure/auto_stop.h"
#include "tunebench/measure/kept_log.h"
#include "tunebench/measure/live_progress.h"
#include "tunebench/measure/log_tail.h"
#include "tunebench/measure/measure.h"
#include "tunebench/measure/measured_fields.h"
#include "tunebench/measure/memory_killer.h"
#include "tunebench/measure/outcome.h"
#include "tunebench/measure/point_gpus.h"
#include "tunebench/measure/run_watch.h"
#include "tunebench/measure/tally.h"
#include "tunebench/measure/window.h"

namespace tunebench::measure {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// How long a wait for an event may take before the clock and the interrupts are looked at again.
constexpr milliseconds kLook{100};
constexpr milliseconds kBetweenProgress{250};
constexpr milliseconds kBetweenLooksAtLog{1000};
/// What of a log is searched for known messages, and how many lines a failed record keeps.
constexpr std::int64_t kLogEndBytes = 65536;
constexpr std::size_t kLogTailLines = 20;

nanoseconds from_seconds(double seconds) {
  // A limit of years is as good as none and must not overflow.
  return nanoseconds(static_cast<std::int64_t>(std::min(seconds, 1e9) * 1e9));
}

double number_or(const experiment::Point& point, const char* name, double absent) {
  const auto found = point.inputs.find(name);
  return found == point.inputs.end() || found->second.is_null() ? absent
                                                                : found->second.as_double();
}

std::int64_t own_peak_resident_bytes() {
  rusage usage{};
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? std::int64_t{usage.ru_maxrss} * 1024 : 0;
}

/// One child from its start to its record.
class Measurement {
 public:
  Measurement(const Request& request, trainer::Trainer& trainer, Clock& clock, StopFlag& stop,
              const std::function<void(const Progress&)>& progress)
      : request_(request),
        trainer_(trainer),
        clock_(clock),
        stop_(stop),
        progress_(progress),
        window_(request.protocol, bounds_own_length(request.point)),
        tally_(request.point),
        expected_(trainer.expected(request.point)),
        max_steps_(static_cast<std::int64_t>(number_or(request.point, "max_steps", -1))),
        stop_after_s_(number_or(request.point, "stop_after_seconds", -1)) {}

  record::Record run();

 private:
  void watch();
  void handle(const trainer::Event& event);
  void handle_step(const trainer::StepEvent& step);
  void handle_phase(const trainer::PhaseEvent& phase);
  void handle_end(const trainer::EndEvent& end);
  void handle_memory(const trainer::MemoryEvent& memory);
  void look_at_interrupts();
  void look_at_time();
  void look_at_log();
  /// Training has begun and the next step does not come.
  [[nodiscard]] bool stalled(nanoseconds now) const;
  /// Training should have begun, and nothing at all comes.
  [[nodiscard]] bool silent(nanoseconds now) const;
  void kill(KilledFor reason);
  void wait_for_exit();
  [[nodiscard]] std::int64_t planned() const;
  [[nodiscard]] bool stop_time_reached() const;
  /// What is needed for a measurement has come, whatever the child does next.
  [[nodiscard]] bool enough() const;

  void tell_progress();
  [[nodiscard]] std::string live_phase() const;

  void set_system_fields(record::Record& record, const Window::Result& window) const;

  [[nodiscard]] RunEnd run_end() const;
  [[nodiscard]] record::Record begin_record() const;
  [[nodiscard]] record::Record refused(record::Outcome status, std::string reason) const;
  [[nodiscard]] record::Record make_record() const;
  void set_failure_fields(record::Record& record) const;

  const Request& request_;
  trainer::Trainer& trainer_;
  Clock& clock_;
  StopFlag& stop_;
  const std::function<void(const Progress&)>& progress_;

  std::unique_ptr<trainer::Running> running_;
  PointGpus gpus_;
  RunWatch watch_;
  Window window_;
  Tally tally_;
  trainer::Expected expected_;
  std::int64_t max_steps_;
  double stop_after_s_;
  std::string started_at_;
  std::string busy_;
  Observed seen_;
  std::optional<trainer::ErrorEvent> error_;
  std::optional<trainer::EndEvent> end_;
  std::string phase_;
  bool interrupted_ = false;
  KilledFor killed_ = KilledFor::Nothing;
  nanoseconds last_step_at_{0};             ///< when its event came
  nanoseconds last_event_at_{0};            ///< the start before the first
  std::optional<nanoseconds> must_end_by_;  ///< once it was asked to stop or told its end
  bool memory_killer_ = false;
  std::string told_phase_;
  nanoseconds told_at_{0};
  nanoseconds log_seen_at_{0};
};

record::Record Measurement::run() {
  const std::optional<std::int64_t> kills_before = memory_kills();
  seen_.own_peak_resident_bytes = own_peak_resident_bytes();
  started_at_ = iso_time(clock_.unix_seconds());
  try {
    gpus_ = find_point_gpus(request_.point, request_.gpus);
  } catch (const Error& error) {
    return refused(record::Outcome::InvalidConfig, error.message());
  }
  if (request_.idle.has_value()) {
    busy_ = join(IdleCheck(gpus_, *request_.idle, clock_).wait(stop_), "; ");
    if (!busy_.empty() && request_.idle->refuse) {
      return refused(record::Outcome::Skipped, "not idle: " + busy_);
    }
    if (!busy_.empty()) {
      log_warning_once("what is to be measured is not idle: the numbers may suffer (field busy)");
    }
  }
  started_at_ = iso_time(clock_.unix_seconds());
  last_event_at_ = clock_.now();
  seen_.started_ns = last_event_at_.count();
  running_ = trainer_.start({.point = request_.point,
                             .log_file = request_.log_file,
                             .planned_steps = request_.planned_steps,
                             .memory_bytes = request_.memory_bytes,
                             .repeat = request_.repeat,
                             .attempt = request_.attempt,
                             .force = request_.force});
  watch_.start(running_->pid(), gpus_,
               std::chrono::duration_cast<milliseconds>(
                   from_seconds(request_.protocol.telemetry_interval_s)));
  watch();
  wait_for_exit();
  seen_.ended_ns = clock_.now().count();
  watch_.stop();
  seen_.tree_peak_bytes = watch_.tree_peak_bytes();
  const std::optional<std::int64_t> kills_after = memory_kills();
  memory_killer_ =
      kills_before.has_value() && kills_after.has_value() && *kills_after > *kills_before;
  return make_record();
}

void Measurement::watch() {
  tell_progress();
  while (!running_->stream_ended() && killed_ == KilledFor::Nothing) {
    const std::optional<trainer::Event> event = running_->next_event(kLook);
    if (event.has_value()) {
      last_event_at_ = clock_.now();
      handle(*event);
    }
    look_at_interrupts();
    look_at_time();
    look_at_log();
    tell_progress();
  }
}

void Measurement::handle(const trainer::Event& event) {
  std::visit(
      [this](const auto& one) {
        using Kind = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<Kind, trainer::StepEvent>) {
          handle_step(one);
        } else if constexpr (std::is_same_v<Kind, trainer::HelloEvent>) {
          seen_.hello = one;
        } else if constexpr (std::is_same_v<Kind, trainer::PhaseEvent>) {
          handle_phase(one);
        } else if constexpr (std::is_same_v<Kind, trainer::MemoryEvent>) {
          handle_memory(one);
        } else if constexpr (std::is_same_v<Kind, trainer::ErrorEvent>) {
          error_ = error_.has_value() ? error_ : one;  // what comes later follows from the first
        } else {
          handle_end(one);
        }
      },
      event);
}

void Measurement::handle_step(const trainer::StepEvent& step) {
  tally_.add(step);
  last_step_at_ = clock_.now();
  if (tally_.contradiction().empty()) {
    window_.add(step);
  }
  // Steps that do not fit together make any window wrong; a run that goes on beyond its plan would
  // go on until the timeout. A run that reaches its plan ends by itself.
  const bool beyond_plan = planned() > 0 && tally_.steps() > planned();
  if (window_.complete() || stop_time_reached() || beyond_plan || !tally_.contradiction().empty()) {
    running_->request_stop();
    if (!must_end_by_.has_value()) {
      must_end_by_ = clock_.now() + from_seconds(request_.protocol.stop_grace_s) +
                     nanoseconds(2 * tally_.longest_ns());
    }
  }
}

void Measurement::handle_phase(const trainer::PhaseEvent& phase) {
  phase_ = phase.name;
  seen_.phases.push_back(phase);
  if (phase_ == "save" && !interrupted_) {
    must_end_by_.reset();  // a model may take minutes to write; the timeout still holds
  }
}

void Measurement::handle_end(const trainer::EndEvent& end) {
  end_ = end;
  tally_.end(end);
  if (!interrupted_) {
    must_end_by_ =
        clock_.now() + from_seconds(std::max(request_.protocol.stop_grace_s, expected_.exit_s));
  }
}

void Measurement::handle_memory(const trainer::MemoryEvent& memory) {
  if (!seen_.memory.has_value()) {
    seen_.memory = memory;
    return;
  }
  trainer::MemoryEvent& kept = *seen_.memory;
  kept.device_peak_bytes = std::max(kept.device_peak_bytes, memory.device_peak_bytes);
  kept.host_peak_bytes = std::max(kept.host_peak_bytes, memory.host_peak_bytes);
  if (!memory.parts.empty()) {
    kept.parts = memory.parts;
  }
}

std::int64_t Measurement::planned() const {
  return max_steps_ > 0 ? max_steps_ : request_.planned_steps;
}

bool Measurement::stop_time_reached() const {
  return stop_after_s_ >= 0 && tally_.steps() > 0 && tally_.train_s() >= stop_after_s_;
}

bool Measurement::enough() const {
  return window_.complete() || stop_time_reached() ||
         (planned() > 0 && tally_.steps() >= planned());
}

void Measurement::look_at_interrupts() {
  const int level = stop_.level.load();
  if (level <= 0) {
    return;
  }
  if (!interrupted_ && !end_.has_value()) {
    interrupted_ = true;
    running_->request_stop();
    const nanoseconds by = clock_.now() + from_seconds(request_.protocol.interrupt_grace_s);
    must_end_by_ = must_end_by_.has_value() ? std::min(*must_end_by_, by) : by;
  }
  if (level >= 2 && killed_ == KilledFor::Nothing && !end_.has_value()) {
    kill(KilledFor::Interrupt);
  }
}

void Measurement::look_at_time() {
  if (killed_ != KilledFor::Nothing) {
    return;
  }
  const nanoseconds now = clock_.now();
  if (must_end_by_.has_value() && now >= *must_end_by_) {
    kill(interrupted_ && !enough() ? KilledFor::Interrupt : KilledFor::Overdue);
  } else if (now - nanoseconds(seen_.started_ns) >= from_seconds(request_.protocol.timeout_s)) {
    kill(enough() ? KilledFor::Overdue : KilledFor::Timeout);
  } else if (!must_end_by_.has_value() && stalled(now)) {
    kill(enough() ? KilledFor::Overdue : KilledFor::Stalled);
  } else if (!must_end_by_.has_value() && silent(now)) {
    kill(KilledFor::Silent);
  }
}

bool Measurement::silent(nanoseconds now) const {
  return expected_.ranks > 0 && tally_.steps() == 0 &&
         now - last_event_at_ >= from_seconds(request_.protocol.first_step_s);
}

void Measurement::look_at_log() {
  if (clock_.now() - log_seen_at_ >= kBetweenLooksAtLog) {
    log_seen_at_ = clock_.now();
    free_middle(request_.log_file);
  }
}

bool Measurement::stalled(nanoseconds now) const {
  const nanoseconds patience = from_seconds(request_.protocol.stall_s);
  const bool trains = phase_.empty() || phase_ == "train";
  if (tally_.steps() == 0 || !trains || now - last_step_at_ < patience) {
    return false;
  }
  return now - last_step_at_ >= patience + from_seconds(request_.protocol.stall_steps *
                                                        median_step_s(window_.all_steps()));
}

void Measurement::kill(KilledFor reason) {
  killed_ = reason;
  running_->kill();
}

void Measurement::wait_for_exit() {
  const double grace_s =
      interrupted_ ? request_.protocol.interrupt_grace_s : request_.protocol.stop_grace_s;
  const nanoseconds grace = from_seconds(grace_s);
  const nanoseconds before = clock_.now();
  const ExitStatus exit = running_->wait(grace);
  if (killed_ == KilledFor::Nothing && exit.signal == SIGKILL && clock_.now() - before >= grace) {
    killed_ = KilledFor::Overdue;
  }
  seen_.exit = unwrap_shell_code(exit);
  // What it wrote before it was killed.
  while (const std::optional<trainer::Event> event = running_->next_event(nanoseconds::zero())) {
    handle(*event);
  }
}

std::string Measurement::live_phase() const {
  if (tally_.steps() == 0 || phase_ == "save") {
    return phase_ == "train" ? "warm-up" : phase_.empty() ? "start" : phase_;
  }
  return window_.warming_up() ? "warm-up" : "timed";
}

void Measurement::tell_progress() {
  if (!progress_) {
    return;
  }
  Progress now;
  now.phase = live_phase();
  const nanoseconds time = clock_.now();
  if (now.phase == told_phase_ && time - told_at_ < kBetweenProgress) {
    return;
  }
  if (tally_.steps() > 0) {
    count_steps(now, {.window = window_,
                      .tally = tally_,
                      .protocol = request_.protocol,
                      .own_length = bounds_own_length(request_.point),
                      .planned_steps = planned(),
                      .stop_after_s = stop_after_s_});
  }
  told_phase_ = now.phase;
  told_at_ = time;
  progress_(now);
}

void Measurement::set_system_fields(record::Record& record, const Window::Result& window) const {
  if (window.timed_steps.empty()) {
    return;
  }
  const TimedSpan span{nanoseconds(window.begin_ns), nanoseconds(window.end_ns)};
  // Steps on a clock that is not this machine's say nothing about when to look.
  if (span.begin.count() >= seen_.started_ns && span.end.count() <= seen_.ended_ns) {
    watch_.set_fields(record, span);
  }
}

RunEnd Measurement::run_end() const {
  return {.killed = killed_,
          .interrupted = interrupted_,
          .enough = enough(),
          .max_steps =
              stop_after_s_ >= 0 || window_.complete() ? 0 : std::max<std::int64_t>(0, max_steps_),
          .timeout_s = request_.protocol.timeout_s,
          .stalled_s = std::chrono::duration<double>(
                           clock_.now() - (tally_.steps() > 0 ? last_step_at_ : last_event_at_))
                           .count(),
          .phase = phase_,
          .error = error_,
          .end = end_,
          .exit = seen_.exit,
          .memory_killer = memory_killer_,
          .expected = expected_,
          .ranks = running_->ranks(),
          .dropped_lines = running_->dropped_lines(),
          .log_end = read_log_end(request_.log_file, kLogEndBytes)};
}

record::Record Measurement::begin_record() const {
  record::Record record;
  record.experiment = request_.point.experiment;
  record.inputs = request_.point.inputs;
  record.trainer = trainer_.name();
  record.trainer_version = trainer_.version();
  record.started_at = started_at_;
  return record;
}

/// Of a child that was never started.
record::Record Measurement::refused(record::Outcome status, std::string reason) const {
  record::Record record = begin_record();
  record.status = status;
  record.reason = std::move(reason);
  return record;
}

record::Record Measurement::make_record() const {
  const RunEnd end = run_end();
  Verdict verdict = judge(end, tally_);
  record::Record record = begin_record();
  record.status = verdict.outcome;
  record.reason = mask_secrets(verdict.reason);
  if (!busy_.empty()) {
    record.set("busy", busy_);
  }
  if (const std::filesystem::path log = keep_log(request_.log_file); !log.empty()) {
    record.log_path = display_path(log);
  }
  set_process_fields(record, seen_, tally_);
  set_run_fields(record, tally_);
  if (record.is_valid()) {
    const Window::Result window = window_.result();
    set_window_fields(record, window);
    set_auto_stop_fields(record, window);
    set_system_fields(record, window);
  } else {
    set_failure_fields(record);
    const std::string tail = last_lines(mask_secrets(end.log_end), kLogTailLines);
    if (!tail.empty()) {
      record.set("log_tail", tail);
    }
  }
  return record;
}

void Measurement::set_failure_fields(record::Record& record) const {
  const std::string phase = error_.has_value() && !error_->phase.empty() ? error_->phase : phase_;
  record.set("failed_phase", phase.empty() ? std::string("start") : phase);
  if (error_.has_value() && error_->step > 0) {
    record.set("failed_step", error_->step);
  } else if (tally_.nonfinite_steps() > 0) {
    record.set("failed_step", tally_.first_nonfinite());
  } else if (phase == "train" || tally_.steps() > 0) {
    record.set("failed_step", tally_.steps() + 1);
  }
  if (error_.has_value() && error_->needed_bytes > 0) {
    record.set("needed_bytes", error_->needed_bytes);
  }
}

}  // namespace

record::Record measure_point(const Request& request, trainer::Trainer& trainer, Clock& clock,
                             StopFlag& stop, const std::function<void(const Progress&)>& progress) {
  return Measurement(request, trainer, clock, stop, progress).run();
}

}  // namespace tunebench::measure
