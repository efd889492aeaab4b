#include <csignal>
#include <cstdio>
#include <memory>
#include <variant>

#include <unistd.h>

#include "tunebench/base/clock.h"
#include "tunebench/trainer/control.h"
#include "tunebench/trainer/event_writer.h"
#include "tunebench/trainer/job.h"
#include "tunebench/trainer/simulated_run.h"
#include "tunebench/trainer/simulated_trainer.h"

namespace tunebench::trainer {
namespace {

void sleep_until(std::chrono::nanoseconds time) {
  const std::chrono::nanoseconds left = time - system_clock().now();
  if (left > std::chrono::nanoseconds::zero()) {
    system_clock().sleep_for(left);
  }
}

/// Returns only when the model says an exit code.
int end_as(const SimulatedEnd& end) {
  if (end.signal != 0) {
    std::signal(end.signal, SIG_DFL);  // a sanitizer's handler would turn it into an exit code
    ::raise(end.signal);
  }
  while (end.hang || end.signal != 0) {
    ::pause();  // a signal that does not end a process leaves it hanging
  }
  return end.exit_code;
}

}  // namespace

int run_simulated_worker(const std::string& job_json, const std::string& simulation_json) {
  const Job job = parse_job(job_json);
  const Simulation simulation = parse_simulation(simulation_json, "simulation");
  EventWriter events = EventWriter::from_environment();
  const std::unique_ptr<Control> control = Control::of_worker();
  const std::chrono::nanoseconds start = system_clock().now();
  SimulatedRun run(simulation, job, start.count(), ::getpid());
  while (true) {
    const SimulatedMoment moment = run.next(control != nullptr && control->stop_requested());
    sleep_until(start + std::chrono::duration_cast<std::chrono::nanoseconds>(simulation.time_scale *
                                                                             moment.at));
    if (const auto* event = std::get_if<Event>(&moment.what)) {
      events.write(*event);
    } else if (const auto* log = std::get_if<SimulatedLog>(&moment.what)) {
      std::fprintf(stderr, "%s\n", log->text.c_str());
      std::fflush(stderr);
    } else {
      return end_as(std::get<SimulatedEnd>(moment.what));
    }
  }
}

}  // namespace tunebench::trainer
