#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "tunebench/base/subprocess.h"
#include "tunebench/experiment/experiment.h"
#include "tunebench/model/model_source.h"
#include "tunebench/trainer/event.h"

namespace tunebench::trainer {

/// What one child process is to train.
struct Job {
  experiment::Point point;
  std::filesystem::path log_file;  ///< the child's stdout and stderr
  std::int64_t planned_steps = 0;  ///< most optimizer steps; the schedule's length; 0: the trainer
                                   ///< works it out with planned_steps()
  std::int64_t memory_bytes = 0;   ///< what the trainer may use; 0: no bound
  std::int64_t repeat = 1;         ///< 1-based, of this point in its run
  std::int64_t attempt = 1;        ///< 1-based, of this repeat
  bool force = false;              ///< go beyond memory_bytes when nothing less will do
};

/// Optimizer steps that a point asks for on a dataset of `samples` entries: max_steps when it is
/// positive, else epochs times steps per epoch (m = ceil(samples / batch), ceil(m / accumulation)).
/// A fraction of an epoch is rounded up.
/// Errors: InvalidInput when the dataset is empty or the batch cannot be divided over the devices.
std::int64_t planned_steps(const experiment::Point& point, std::int64_t samples);

/// Samples of one device's micro-batch: batch_size is the total over all devices.
std::int64_t device_batch_size(const experiment::Point& point);

/// Which processes of a distributed trainer have spoken so far.
struct RanksSeen {
  std::int64_t world = 1;                       ///< how many there are, as they tell
  std::set<std::int64_t> told;                  ///< ranks with a hello event
  std::set<std::int64_t> stepped;               ///< ranks with a step event
  std::map<std::int64_t, std::string> devices;  ///< of the hello events, by rank
};

/// What a run must show to count, beyond its steps: exit code 0 proves nothing.
struct Expected {
  std::int64_t ranks = 0;  ///< processes that train; 0: whatever the trainer tells
  std::string device;      ///< "cpu" or "cuda"; empty: whatever the trainer tells
  /// How long it may take to exit after its end event, when that is longer than the protocol's
  /// grace: an interpreter that takes large libraries down on a busy machine.
  double exit_s = 0;
};

/// A started child: its events and its end.
class Running {
 public:
  virtual ~Running() = default;
  /// The next event, waiting at most `timeout`; nullopt when none came in that time or the stream
  /// has ended (then stream_ended() is true).
  virtual std::optional<Event> next_event(std::chrono::nanoseconds timeout) = 0;
  [[nodiscard]] virtual bool stream_ended() const = 0;
  /// The child's process, for looking at what it uses; 0: there is none to look at.
  [[nodiscard]] virtual pid_t pid() const { return 0; }
  /// Lines so far that were no event; a trainer under development wants to know.
  [[nodiscard]] virtual std::int64_t dropped_lines() const { return 0; }
  [[nodiscard]] virtual RanksSeen ranks() const { return {}; }
  /// Asks to end after the running step. Idempotent.
  virtual void request_stop() = 0;
  /// SIGKILL to the whole process group.
  virtual void kill() = 0;
  /// Waits for the child; kills it when it is still there after `timeout`.
  virtual ExitStatus wait(std::chrono::nanoseconds timeout) = 0;
};

/// Starts a trainer and names what it is. Stateless.
class Trainer {
 public:
  virtual ~Trainer() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string version() const = 0;
  /// Errors: Io or NotFound when the child cannot be started.
  virtual std::unique_ptr<Running> start(const Job& job) = 0;
  /// GFLOP/s that this trainer's matrix products reach on this machine, measured by a process of
  /// its own at the first call; nullopt when that is not known.
  virtual std::optional<double> roof_gflops() { return std::nullopt; }
  /// What a run of `point` must show.
  [[nodiscard]] virtual Expected expected(const experiment::Point& /*point*/) const { return {}; }
  /// Makes what starting needs and is not there yet (an environment of packages), which may take
  /// minutes and is told as notes of base/log.h. Called before each start, where no clock runs yet.
  /// Errors: Io, NotFound or Unsupported with what failed.
  virtual void prepare() {}
  /// Exact versions of the packages that it computes with, for the record; may be empty.
  [[nodiscard]] virtual std::vector<std::pair<std::string, std::string>> packages() const {
    return {};
  }
  /// The one that measures `point`, where this stands for several.
  [[nodiscard]] virtual Trainer& of(const experiment::Point& /*point*/) { return *this; }
};

/// `program train` of this program as a child; `program` empty: own_executable().
std::unique_ptr<Trainer> make_native_trainer(std::filesystem::path program = {});

/// Starts `argv` with the step protocol's variables set (TUNEBENCH_JOB holds the job's JSON): for
/// tests and for any program that writes the protocol.
std::unique_ptr<Trainer> make_command_trainer(std::vector<std::string> argv);

/// Bytes that the native trainer plans for a point: of the mildest recompute that fits into
/// `memory_bytes` (0: no bound), else the least that it can do with. Exact but for the libraries'
/// own memory; milliseconds, nothing is read.
std::int64_t native_memory(const model::ModelSource& source, const experiment::Point& point,
                           std::int64_t memory_bytes);

/// What a point trains, and its arithmetic per token of a sequence of model_max_length.
struct TrainingFacts {
  std::int64_t trained_parameters = 0;
  double flops_per_token = 0;
};
/// Errors: InvalidInput or Unsupported naming what the point's method cannot do with this model.
TrainingFacts training_facts(const model::ModelSource& source, const experiment::Point& point);

/// Names and versions of the libraries that the native worker computes with.
std::vector<std::pair<std::string, std::string>> native_libraries();

/// The worker behind `tunebench roof`: measures the rate of matrix products and prints it. Returns
/// the exit code.
int run_roof_worker();

/// The worker behind `tunebench train JOB`: trains and writes events. Returns the exit code.
/// JOB is the JSON text that make_native_trainer passes on.
int run_native_worker(const std::string& job_json);

}  // namespace tunebench::trainer
