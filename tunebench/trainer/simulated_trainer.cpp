#include "tunebench/trainer/simulated_trainer.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <optional>
#include <utility>

#include <unistd.h>

#include "tunebench/base/build_info.h"
#include "tunebench/base/files.h"
#include "tunebench/base/hash.h"
#include "tunebench/trainer/child_running.h"
#include "tunebench/trainer/job.h"
#include "tunebench/trainer/simulated_run.h"

namespace tunebench::trainer {
namespace {

using std::chrono::nanoseconds;

std::string version_of(const Simulation& simulation) {
  constexpr std::size_t kDigits = 16;
  return build_info().version + "+" + sha256_hex(simulation.text).substr(0, kDigits);
}

class SimulatedTrainer final : public Trainer {
 public:
  SimulatedTrainer(Simulation simulation, std::filesystem::path program)
      : simulation_(std::move(simulation)), program_(std::move(program)) {}

  [[nodiscard]] std::string name() const override { return "simulated"; }
  [[nodiscard]] std::string version() const override { return version_of(simulation_); }

  std::unique_ptr<Running> start(const Job& job) override {
    return ChildRunning::start({program_.string(), "simulate", job_text(job), simulation_.text}, {},
                               job.log_file);
  }

 private:
  Simulation simulation_;
  std::filesystem::path program_;
};

/// Plays a run on a clock instead of in a process.
class SimulatedRunning final : public Running {
 public:
  SimulatedRunning(Simulation simulation, const Job& job, Clock& clock)
      : simulation_(std::move(simulation)),
        job_(job),
        clock_(clock),
        start_(clock.now()),
        run_(simulation_, job_, start_.count(), ::getpid()) {}

  std::optional<Event> next_event(nanoseconds timeout) override {
    const nanoseconds until = clock_.now() + timeout;
    while (!ended_) {
      if (!next_.has_value()) {
        next_ = run_.next(stop_);
      }
      const auto* end = std::get_if<SimulatedEnd>(&next_->what);
      const nanoseconds due = start_ + next_->at;
      if (due > until || (end != nullptr && end->hang)) {
        clock_.sleep_for(std::max(nanoseconds::zero(), until - clock_.now()));
        return std::nullopt;
      }
      if (due > clock_.now()) {
        clock_.sleep_for(due - clock_.now());
      }
      if (end != nullptr) {
        ended_ = true;
        exit_ = {.code = end->exit_code, .signal = end->signal};
        break;
      }
      const SimulatedMoment moment = std::exchange(next_, std::nullopt).value();
      if (const auto* event = std::get_if<Event>(&moment.what)) {
        return *event;
      }
      std::ofstream(job_.log_file, std::ios::app)
          << std::get<SimulatedLog>(moment.what).text << "\n";
    }
    return std::nullopt;
  }

  [[nodiscard]] bool stream_ended() const override { return ended_; }
  void request_stop() override { stop_ = true; }
  void kill() override {
    if (!ended_) {
      ended_ = true;
      exit_ = {.signal = SIGKILL};
    }
  }
  ExitStatus wait(nanoseconds timeout) override {
    const nanoseconds until = clock_.now() + timeout;
    while (!ended_ && clock_.now() < until) {
      next_event(until - clock_.now());
    }
    kill();
    return exit_;
  }

 private:
  Simulation simulation_;
  Job job_;
  Clock& clock_;
  nanoseconds start_;
  SimulatedRun run_;
  std::optional<SimulatedMoment> next_;
  bool stop_ = false;
  bool ended_ = false;
  ExitStatus exit_;
};

class SimulatedTrainerInProcess final : public Trainer {
 public:
  SimulatedTrainerInProcess(Simulation simulation, Clock& clock)
      : simulation_(std::move(simulation)), clock_(clock) {}

  [[nodiscard]] std::string name() const override { return "simulated"; }
  [[nodiscard]] std::string version() const override { return version_of(simulation_); }

  std::unique_ptr<Running> start(const Job& job) override {
    return std::make_unique<SimulatedRunning>(simulation_, job, clock_);
  }

 private:
  Simulation simulation_;
  Clock& clock_;
};

}  // namespace

std::unique_ptr<Trainer> make_simulated_trainer(Simulation simulation,
                                                std::filesystem::path program) {
  return std::make_unique<SimulatedTrainer>(
      std::move(simulation), program.empty() ? own_executable() : std::move(program));
}

std::unique_ptr<Trainer> make_simulated_trainer(Simulation simulation, Clock& clock) {
  return std::make_unique<SimulatedTrainerInProcess>(std::move(simulation), clock);
}

}  // namespace tunebench::trainer
