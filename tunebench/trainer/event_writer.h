#pragma once

#include "tunebench/base/descriptor.h"
#include "tunebench/trainer/event.h"

namespace tunebench::trainer {

/// The trainer's end of the step protocol. One write per line, so that a crash cuts at most the
/// line it interrupts.
class EventWriter {
 public:
  /// To the descriptor of TUNEBENCH_EVENTS_FD, else appended to the file of TUNEBENCH_EVENTS, else
  /// to standard output: a person who starts the worker by hand sees the events.
  /// Errors: InvalidInput when the variable is not an open descriptor; Io for the file.
  static EventWriter from_environment();
  /// To an open descriptor, which is not closed.
  explicit EventWriter(int descriptor) : descriptor_(descriptor) {}

  /// Errors: Io when the reader is gone or the disk is full.
  void write(const Event& event);

 private:
  Descriptor file_;
  int descriptor_ = -1;
};

}  // namespace tunebench::trainer
