#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tunebench/experiment/experiment.h"
#include "tunebench/measure/measure.h"
#include "tunebench/trainer/event.h"

namespace tunebench::measure {

/// What counts of one optimizer step.
struct StepCounts {
  std::int64_t duration_ns = 0;
  std::int64_t samples = 0;
  std::int64_t tokens = 0;
  std::int64_t tokens_nonpad = 0;
  std::int64_t tokens_trained = 0;

  StepCounts& operator+=(const StepCounts& other);
  [[nodiscard]] double seconds() const { return static_cast<double>(duration_ns) / 1e9; }
};
StepCounts counts_of(const trainer::StepEvent& step);

/// Mean of the two middle ones for an even number; 0 when there is none.
double median_step_s(const std::vector<StepCounts>& steps);

/// How warm-up ended. Stored names never change.
enum class Warmup {
  Steady,    ///< the step time settled
  Capped,    ///< the limit came first
  Short,     ///< the run was too short to settle: the first steps, at most three, were left out
  None,      ///< a single step: nothing was left out
  AutoStop,  ///< as auto_stop_method says, and its rule was satisfied
};
std::string_view warmup_name(Warmup warmup);

/// True when max_steps, num_train_epochs or stop_after_seconds say how long to train; then exactly
/// that is run and the window never ends the run early. With auto_stop_method the window may end
/// the run before that.
bool bounds_own_length(const experiment::Point& point);

/// Decides which steps are warm-up and which are timed, while they come in. Pure: sees step events
/// only.
///
/// Steady compares the time per computed token, so that batches of unequal length do not look like
/// an unsettled machine; with equal batches that is the step time.
class Window {
 public:
  Window(const Protocol& protocol, bool bounded) : protocol_(protocol), bounded_(bounded) {}

  void add(const trainer::StepEvent& step);

  [[nodiscard]] bool warming_up() const { return !warm_; }
  /// Enough is timed and the point does not bound its own length. Steps that come later are not
  /// part of the window.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] std::int64_t steps() const { return static_cast<std::int64_t>(steps_.size()); }
  /// Of the timed steps so far.
  [[nodiscard]] std::int64_t timed_steps() const;
  [[nodiscard]] double timed_s() const { return timed_.seconds(); }
  [[nodiscard]] const std::vector<StepCounts>& all_steps() const { return steps_; }

  struct Result {
    Warmup warmup = Warmup::None;
    std::vector<StepCounts> warmup_steps;
    std::vector<StepCounts> timed_steps;  ///< never empty when there was a step
    std::int64_t begin_ns = 0;            ///< t0 of the first timed step
    std::int64_t end_ns = 0;              ///< t1 of the last timed step
  };
  /// The split, once the run is over.
  [[nodiscard]] Result result() const;

 private:
  [[nodiscard]] bool settled() const;
  [[nodiscard]] bool fixed_warmup_over() const;
  void end_warmup_if_due(std::int64_t last_t1);

  Protocol protocol_;
  bool bounded_;
  struct Span {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
  };
  std::vector<StepCounts> steps_;
  std::vector<Span> spans_;  ///< of steps_
  std::int64_t all_steps_ns_ = 0;
  std::int64_t first_t0_ = 0;
  bool warm_ = false;
  bool capped_ = false;
  bool complete_ = false;
  std::size_t warmup_count_ = 0;
  std::size_t end_ = 0;  ///< of the window, once complete
  StepCounts timed_;
};

}  // namespace tunebench::measure
