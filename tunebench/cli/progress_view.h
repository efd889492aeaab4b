#pragma once

#include <chrono>
#include <string>

#include "tunebench/base/clock.h"
#include "tunebench/campaign/campaign.h"
#include "tunebench/cli/console.h"

namespace tunebench::cli {

/// Tells on stderr how a run goes: one live line on a terminal, else a line when a measurement
/// begins, when it ends, and every half minute between.
class ProgressView : public campaign::Observer {
 public:
  ProgressView(Console& console, Clock& clock, const campaign::Plan& plan, bool quiet)
      : console_(console), clock_(clock), plan_(plan), quiet_(quiet) {}

  void started(const store::Run& run, std::int64_t reused, std::int64_t kept) override;
  void stale(const campaign::StaleResults& results) override;
  void waiting(const campaign::Waiting& waiting) override;
  void measuring(const campaign::Position& position) override;
  void progress(const campaign::Position& position, const measure::Progress& progress,
                double seconds_left) override;
  void measured(const campaign::Position& position, const record::Record& record,
                bool again) override;

  /// A line of its own, above the live line.
  void say(const std::string& text);

 private:
  void clear_live_line();
  Console& console_;
  Clock& clock_;
  const campaign::Plan& plan_;
  bool quiet_;
  bool line_is_live_ = false;
  std::string waited_for_;
  std::chrono::nanoseconds last_shown_{};
};

}  // namespace tunebench::cli
