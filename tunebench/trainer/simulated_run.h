#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <variant>

#include "tunebench/trainer/event.h"
#include "tunebench/trainer/simulation.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {

/// A line that the simulated trainer writes to its log.
struct SimulatedLog {
  std::string text;
};
/// How the simulated trainer ends; with `hang` it never does.
struct SimulatedEnd {
  int exit_code = 0;
  int signal = 0;
  bool hang = false;
};
struct SimulatedMoment {
  std::chrono::nanoseconds at{0};  ///< modelled time since the start
  std::variant<Event, SimulatedLog, SimulatedEnd> what;
};

/// Plays one run of a model, moment by moment; does not wait. The same model and job give the same
/// moments: noise depends on the seed, the point's inputs, repeat and attempt only.
class SimulatedRun {
 public:
  /// `start_ns` is added to the times in events. Both references must outlive the run.
  SimulatedRun(const Simulation& simulation, const Job& job, std::int64_t start_ns,
               std::int64_t pid);

  /// The next moment; the last is a SimulatedEnd. `stop`: the controller asked to stop, so no
  /// further step begins.
  SimulatedMoment next(bool stop);

 private:
  void load();
  void train(bool stop);
  void save_and_end();
  void make_step();
  void fail(const SimulatedFailure& failure);
  [[nodiscard]] const SimulatedFailure* failure_in(std::int64_t step) const;
  [[nodiscard]] double step_seconds(std::int64_t step) const;
  [[nodiscard]] double needed_bytes() const;
  void tell_memory();
  void say(std::variant<Event, SimulatedLog, SimulatedEnd> what);
  [[nodiscard]] std::int64_t told_time() const { return start_ns_ + now_.count(); }

  enum class Stage { Load, Train, Over };
  const Simulation& simulation_;
  const Job& job_;
  std::int64_t start_ns_;
  std::int64_t pid_;
  std::uint64_t noise_seed_;
  Stage stage_ = Stage::Load;
  std::chrono::nanoseconds now_{0};
  std::chrono::nanoseconds train_begin_{0};
  std::string phase_;
  std::int64_t step_ = 0;  ///< steps done
  std::deque<SimulatedMoment> pending_;
};

}  // namespace tunebench::trainer
