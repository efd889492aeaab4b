#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tunebench/base/subprocess.h"
#include "tunebench/measure/tally.h"
#include "tunebench/record/record.h"
#include "tunebench/trainer/event.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::measure {

/// Why measure_point killed the child.
enum class KilledFor {
  Nothing,    ///< it was not killed
  Timeout,    ///< the point took too long
  Stalled,    ///< the next step did not come
  Silent,     ///< no first step came, and nothing else either
  Interrupt,  ///< the user does not want to wait
  Overdue,    ///< it was asked to stop or said that it had ended, and stayed
};

/// All that tells how a run went.
struct RunEnd {
  KilledFor killed = KilledFor::Nothing;
  bool interrupted = false;    ///< asked to stop by the user before enough was measured
  bool enough = false;         ///< the window is complete, or the point's own length is reached
  std::int64_t max_steps = 0;  ///< what the point asks for; 0: not a number of steps
  double timeout_s = 0;
  double stalled_s = 0;  ///< since the last step, or the last event before the first
  std::string phase;     ///< the last that the trainer told
  std::optional<trainer::ErrorEvent> error;
  std::optional<trainer::EndEvent> end;
  ExitStatus exit;
  bool memory_killer = false;  ///< the memory killer struck in our cgroup during the run
  trainer::Expected expected;
  trainer::RanksSeen ranks;
  std::int64_t dropped_lines = 0;
  std::string log_end;
};

struct Verdict {
  record::Outcome outcome = record::Outcome::Ok;
  std::string reason;  ///< empty when ok
};

/// Names the outcome. Pure.
Verdict judge(const RunEnd& run, const Tally& tally);

/// A shell passes on that its child was ended by signal n as exit code 128 + n.
ExitStatus unwrap_shell_code(ExitStatus exit);

}  // namespace tunebench::measure
