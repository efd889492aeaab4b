#pragma once

#include "tunebench/measure/measure.h"

namespace tunebench::cli {

/// While it lives, ctrl-C (and the signals to end or hang up) set a flag instead of ending the
/// program: once, the running step may end in the time that measure allows; twice, at once; a third
/// time ends the program without ceremony. At most one object at a time.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  [[nodiscard]] measure::StopFlag& flag();
  /// 128 + the first signal: 130 for ctrl-C; 0 when there was none.
  [[nodiscard]] int exit_code() const;
};

}  // namespace tunebench::cli
