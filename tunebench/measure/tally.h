#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tunebench/experiment/experiment.h"
#include "tunebench/measure/window.h"
#include "tunebench/trainer/event.h"

namespace tunebench::measure {

/// Adds up all steps of a run and checks that what the trainer tells fits together.
class Tally {
 public:
  /// Limits follow from the point: samples of a step, tokens of a sample. Without an input its
  /// limit is not checked.
  explicit Tally(const experiment::Point& point);

  void add(const trainer::StepEvent& step);
  void end(const trainer::EndEvent& end);

  [[nodiscard]] const StepCounts& totals() const { return totals_; }
  [[nodiscard]] std::int64_t steps() const { return steps_; }
  [[nodiscard]] const std::optional<trainer::StepEvent>& first() const { return first_; }
  [[nodiscard]] const std::optional<trainer::StepEvent>& last() const { return last_; }
  [[nodiscard]] std::int64_t longest_ns() const { return longest_ns_; }
  /// From the begin of the first step to the end of the last.
  [[nodiscard]] double train_s() const;

  /// Steps whose loss or gradient norm is not a finite number, and the first of them.
  [[nodiscard]] std::int64_t nonfinite_steps() const { return nonfinite_; }
  [[nodiscard]] std::int64_t first_nonfinite() const { return first_nonfinite_; }
  /// "loss" or "gradient norm" of the first of them.
  [[nodiscard]] const std::string& nonfinite_what() const { return nonfinite_what_; }
  /// Steps whose loss is told and exactly 0.
  [[nodiscard]] std::int64_t zero_losses() const { return zero_losses_; }

  /// The first contradiction, or empty: "step 3: tokens_nonpad 900 exceeds tokens 800".
  [[nodiscard]] const std::string& contradiction() const { return contradiction_; }

 private:
  [[nodiscard]] std::string check(const trainer::StepEvent& step) const;

  std::optional<std::int64_t> samples_limit_;
  std::optional<std::int64_t> length_limit_;
  StepCounts totals_;
  std::int64_t steps_ = 0;
  std::optional<trainer::StepEvent> first_;
  std::optional<trainer::StepEvent> last_;
  std::int64_t longest_ns_ = 0;
  std::int64_t nonfinite_ = 0;
  std::int64_t first_nonfinite_ = 0;
  std::int64_t zero_losses_ = 0;
  std::string nonfinite_what_;
  std::string contradiction_;
};

}  // namespace tunebench::measure
