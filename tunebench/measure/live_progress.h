#pragma once

#include <cstdint>

#include "tunebench/measure/measure.h"
#include "tunebench/measure/tally.h"
#include "tunebench/measure/window.h"

namespace tunebench::measure {

/// What a measurement has seen so far.
struct SeenSteps {
  const Window& window;
  const Tally& tally;  ///< at least one step
  const Protocol& protocol;
  bool own_length = false;         ///< the point bounds its own length
  std::int64_t planned_steps = 0;  ///< 0: not known
  double stop_after_s = -1;        ///< below 0: no such bound
};

/// Fills in steps, speed and what is left, by the phase of `now`.
void count_steps(Progress& now, const SeenSteps& seen);

}  // namespace tunebench::measure
