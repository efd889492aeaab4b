#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tunebench::trainer {

/// Relative scatter of a duration around what the model says.
struct Noise {
  bool normal = false;  ///< false: lognormal with median 1; true: normal around 1
  double sd = 0;        ///< of the logarithm, or of the factor itself
};

/// One way in which simulated runs end before their time.
struct SimulatedFailure {
  std::vector<std::int64_t> runs;      ///< repeats that it strikes, 1-based; empty: all
  std::vector<std::int64_t> attempts;  ///< of those; empty: all
  std::int64_t step = 1;               ///< in which step; 0: while loading
  std::string error;                   ///< kind of an error event, or empty
  std::string message;                 ///< of that event
  std::string log;                     ///< a line of the log, or empty
  int signal = 0;
  int exit_code = 1;  ///< without a signal
  bool hang = false;
};

/// A model of a trainer: how long its steps take, what memory it needs, where it fails. Durations
/// are seconds. docs/file-formats.md describes the file.
struct Simulation {
  std::string text;  ///< canonical JSON of the file: equal models have equal texts
  std::uint64_t seed = 1;
  double time_scale = 1;  ///< real seconds that a modelled second takes; 0: no waiting
  double load_s = 0;
  double save_s = 0;  ///< 0: no phase save

  double step_s = 0;   ///< of every step
  double token_s = 0;  ///< of every token computed in it
  Noise step_noise;
  Noise run_noise;  ///< the same for all steps of a run
  double drift_per_step = 0;
  double drift_per_run = 0;
  double warmup_extra = 0;  ///< the first step takes 1 + this times as long
  double warmup_steps = 3;  ///< after so many steps a third of it is left (1/e)
  double outlier_steps = 0;
  double outlier_runs = 0;
  double outlier_factor = 3;

  double padding = 0;  ///< share of the computed tokens
  std::int64_t memory_bytes = 0;
  std::int64_t memory_token_bytes = 0;  ///< per token of a device's micro-batch
  std::int64_t memory_limit_bytes = 0;  ///< 0: none
  std::string memory_kind = "oom_gpu";
  std::vector<SimulatedFailure> failures;
};

/// Errors: InvalidInput with one line that names `origin`, the member and what it may be.
Simulation parse_simulation(std::string_view text, std::string_view origin);

/// Errors: those of read_file and parse_simulation.
Simulation read_simulation(const std::filesystem::path& file);

}  // namespace tunebench::trainer
