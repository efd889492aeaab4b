#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tunebench/base/clock.h"
#include "tunebench/hardware/gpu_monitor.h"
#include "tunebench/measure/idle.h"
#include "tunebench/record/record.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::measure {

/// How long to measure.
struct Protocol {
  /// Warm-up ends when the median time per token of the last 5 steps is within `steady` of that of
  /// the 5 before, after at least min_warmup_steps; at the latest after max_warmup_steps or
  /// max_warmup_s (then warmup=capped). A run that ends before, or with fewer than 5 steps after
  /// it, leaves out its first 3 steps at most (warmup=short); a single step is its own window
  /// (warmup=none).
  std::int64_t min_warmup_steps = 3;
  double steady = 0.02;
  std::int64_t max_warmup_steps = 50;
  double max_warmup_s = 60.0;
  /// Instead of all that: warm-up is the steps up to and with the first that ends more than this
  /// after training began, steps laid end to end.
  std::optional<double> fixed_warmup_s = {};
  /// The timed window holds at least this many steps and this much time, unless the point bounds
  /// its own length (max_steps, num_train_epochs, stop_after_seconds).
  std::int64_t min_timed_steps = 20;
  double min_timed_s = 5.0;
  /// A point that takes longer is killed: outcome timeout.
  double timeout_s = 3600.0;
  /// So is one whose next step does not come for stall_s and stall_steps times the median step.
  double stall_s = 60.0;
  double stall_steps = 10.0;
  /// So is a trainer that says how many processes it is, when none of them tells anything for this
  /// long before the first step of all: a rendezvous that hangs prints nothing.
  double first_step_s = 600.0;
  /// How long a child has to end after its end event or after it was asked to stop, on top of two
  /// of its longest steps. Then it is killed.
  double stop_grace_s = 10.0;
  /// The same after an interrupt of level 1, with nothing on top: a person waits, and the step that
  /// runs would not count.
  double interrupt_grace_s = 3.0;
  /// How often the machine is looked at, after the first seconds.
  double telemetry_interval_s = 0.5;
};

/// Where a measurement is, for the live line.
struct Progress {
  std::string phase;              ///< start, load, warm-up, timed, save
  std::int64_t steps = 0;         ///< of the phase
  std::int64_t steps_wanted = 0;  ///< 0: not known
  double tokens_per_s_now = 0;
  double seconds_left = 0;  ///< 0: not known
};

/// What the controller's interrupts set; measure_point looks at it between events.
struct StopFlag {
  std::atomic<int> level{0};  ///< 1: end after the running step, at the latest after
                              ///< interrupt_grace_s; 2: at once
};

struct Request {
  experiment::Point point;
  std::filesystem::path log_file;
  std::int64_t planned_steps = 0;
  std::int64_t memory_bytes = 0;
  std::int64_t repeat = 1;   ///< for the job: 1-based, of this point in its run
  std::int64_t attempt = 1;  ///< for the job: 1-based, of this repeat
  bool force = false;        ///< for the job: go beyond memory_bytes
  Protocol protocol;
  const hardware::GpuMonitor* gpus = nullptr;  ///< nullptr: those of this machine
  std::optional<IdleRules> idle;               ///< absent: the machine is not looked at before
};

/// Runs one child and makes its record: status, reason, measured fields. Run, key, repeat,
/// environment are the caller's. The log is kept as keep_log says. Never throws for what the child
/// does; throws only when the child cannot be started at all.
record::Record measure_point(const Request& request, trainer::Trainer& trainer, Clock& clock,
                             StopFlag& stop, const std::function<void(const Progress&)>& progress);

}  // namespace tunebench::measure
