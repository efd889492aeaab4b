#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tunebench/trainer/event.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {

/// Makes one stream of events of those that the processes of a distributed trainer tell, each with
/// its rank. The first hello says how many there are (`world`); with one process every event is
/// passed on as it is. With several:
///
/// - hello: that of rank 0. Phases: those of rank 0. Errors: as they come, the rank named.
/// - step: once all ranks have told it. It begins with the first of them, but not before the end of
///   the step before, and ends with the last; samples and tokens are summed, loss is the mean of
///   the ranks' losses, gradient norm and learning rate are those of rank 0.
/// - memory: the largest peak of a device, the sum of the processes' host peaks.
/// - end: once all ranks have ended; `ok` only if all were.
class RankMerge {
 public:
  void add(Event event);
  /// The next merged event in order.
  std::optional<Event> take();
  [[nodiscard]] const RanksSeen& seen() const { return seen_; }

 private:
  void add_hello(HelloEvent hello);
  void add_step(const StepEvent& step);
  void add_memory(const MemoryEvent& memory);
  void add_error(ErrorEvent error);
  void add_end(const EndEvent& end);
  [[nodiscard]] std::size_t world() const { return static_cast<std::size_t>(seen_.world); }

  RanksSeen seen_;
  std::deque<Event> merged_;
  std::map<std::int64_t, std::map<std::int64_t, StepEvent>> steps_;  ///< number, rank
  std::map<std::int64_t, MemoryEvent> memory_;
  std::map<std::int64_t, EndEvent> ends_;
  std::int64_t last_end_ns_ = 0;
};

}  // namespace tunebench::trainer
