// What sampling costs: the CPU time of this process while it does nothing but sample a tree of
// sleeping processes with threads.
#include "tunebench/hardware/telemetry.h"

#include <csignal>
#include <ctime>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/one_line.h"
#include "tunebench/hardware/gpu_monitor.h"

namespace tunebench::bench {
namespace {

struct Options {
  double seconds = 30;
  int interval_ms = 500;
  int processes = 8;
  int threads = 8;
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

[[noreturn]] void sleep_with_threads(int threads) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (int i = 1; i < threads; ++i) {
    std::thread([] { pause(); }).detach();
  }
  while (true) {
    pause();
  }
}

std::vector<pid_t> start_tree(const Options& options) {
  std::vector<pid_t> children;
  for (int i = 0; i < options.processes; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      sleep_with_threads(options.threads);
    }
    children.push_back(child);
  }
  return children;
}

int run(const Options& options) {
  const std::vector<pid_t> children = start_tree(options);
  std::string no_gpus;
  hardware::TelemetryOptions telemetry;
  telemetry.root = getpid();
  telemetry.interval = std::chrono::milliseconds(options.interval_ms);
  telemetry.first_interval = telemetry.interval;
  telemetry.gpus = hardware::system_gpus(no_gpus);
  if (telemetry.gpus != nullptr) {
    for (const hardware::GpuIdentity& gpu : telemetry.gpus->devices()) {
      telemetry.devices.push_back(gpu.index);
    }
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the threads of the tree start
  const double before = cpu_seconds();
  hardware::TelemetrySampler sampler(telemetry);
  std::this_thread::sleep_for(std::chrono::duration<double>(options.seconds));
  sampler.stop();
  const double spent = cpu_seconds() - before;
  for (const pid_t child : children) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  const auto samples = static_cast<double>(sampler.samples().size());
  const nlohmann::ordered_json result = {
      {"processes", options.processes + 1},
      {"threads_each", options.threads},
      {"gpus", telemetry.devices.size()},
      {"interval_ms", options.interval_ms},
      {"seconds", options.seconds},
      {"samples", sampler.samples().size()},
      {"cpu_ms_per_sample", 1000 * spent / samples},
      {"percent_of_one_core", 100 * spent / options.seconds},
  };
  fmt::print("{}\n", result.dump());
  return 0;
}

}  // namespace
}  // namespace tunebench::bench

int main(int argc, char** argv) {
  tunebench::bench::Options options;
  CLI::App app("The CPU time that telemetry takes.");
  app.add_option("--seconds", options.seconds, "how long to sample")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--interval-ms", options.interval_ms, "time between two samples")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--processes", options.processes, "processes below the one that is watched")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads of each")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return tunebench::bench::one_line_for_a_failure(
      "telemetry_bench", [&options] { return tunebench::bench::run(options); });
}
