#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tunebench/base/subprocess.h"
#include "tunebench/measure/tally.h"
#include "tunebench/measure/window.h"
#include "tunebench/record/record.h"
#include "tunebench/trainer/event.h"

namespace tunebench::measure {

/// What was seen of a child, times in nanoseconds of CLOCK_MONOTONIC.
struct Observed {
  std::int64_t started_ns = 0;
  std::int64_t ended_ns = 0;
  std::optional<trainer::HelloEvent> hello;
  std::vector<trainer::PhaseEvent> phases;
  std::optional<trainer::MemoryEvent> memory;  ///< the largest of each number
  ExitStatus exit;
  std::int64_t tree_peak_bytes = 0;          ///< of the child and its descendants, as sampled
  std::int64_t own_peak_resident_bytes = 0;  ///< of the controller, see host_peak_bytes
};

/// Leaves the field absent when the value is.
void set_if_known(record::Record& record, std::string_view field,
                  const std::optional<double>& value);

/// The timed window: rates, counts, step times. For a run that is ok.
void set_window_fields(record::Record& record, const Window::Result& window);

/// Counts and rates of the whole run. Rates only for a run that is ok.
void set_run_fields(record::Record& record, const Tally& tally);

/// What the trainer told of itself, its memory and its times.
void set_process_fields(record::Record& record, const Observed& seen, const Tally& tally);

/// Largest resident memory: what the trainer tells of itself, what was sampled of its process tree
/// or what the system counted for it or one of its children, whichever is most. Linux starts a
/// child's count with the peak of the process that made it, so a count that is not above
/// `own_peak_resident_bytes` says nothing about the child.
std::int64_t host_peak_bytes(const Observed& seen);

}  // namespace tunebench::measure
