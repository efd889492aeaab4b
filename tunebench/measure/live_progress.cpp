#include "tunebench/measure/live_progress.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace tunebench::measure {

void count_steps(Progress& now, const SeenSteps& seen) {
  const bool timed = now.phase == "timed";
  const std::int64_t steps = seen.tally.steps();
  const double step_s =
      seen.tally.totals().seconds() / static_cast<double>(std::max<std::int64_t>(1, steps));
  now.steps = timed ? seen.window.timed_steps() : seen.window.steps();
  const std::optional<trainer::StepEvent>& last = seen.tally.last();
  if (last.has_value() && last->t1 > last->t0) {
    now.tokens_per_s_now =
        static_cast<double>(last->tokens_nonpad) * 1e9 / static_cast<double>(last->t1 - last->t0);
  }
  if (seen.stop_after_s >= 0) {
    now.seconds_left = std::max(0.0, seen.stop_after_s - seen.tally.train_s());
    return;
  }
  std::int64_t left = 0;
  if (seen.own_length) {
    left = std::max<std::int64_t>(0, seen.planned_steps - steps);
  } else if (timed && step_s > 0) {
    const auto for_time = static_cast<std::int64_t>(
        std::ceil((seen.protocol.min_timed_s - seen.window.timed_s()) / step_s));
    left = std::max<std::int64_t>(
        {0, seen.protocol.min_timed_steps - seen.window.timed_steps(), for_time});
  } else {
    return;
  }
  now.steps_wanted = seen.planned_steps > 0 || timed ? now.steps + left : 0;
  now.seconds_left = static_cast<double>(left) * step_s;
}

}  // namespace tunebench::measure
