#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tunebench/base/descriptor.h"
#include "tunebench/base/subprocess.h"
#include "tunebench/trainer/line_reader.h"
#include "tunebench/trainer/rank_merge.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {

/// Numbers of the two descriptors in the child.
inline constexpr int kEventsDescriptor = 3;
inline constexpr int kControlDescriptor = 4;

/// For trainers that start processes of their own, which do not inherit the two descriptors.
struct ChildFiles {
  std::filesystem::path working_folder;  ///< the child's; empty: ours
  /// A FIFO made here that any process of the trainer opens to write events (TUNEBENCH_EVENTS);
  /// the child has it as its descriptor, too. Empty: a pipe. Processes that are left after the
  /// child's end are killed, whatever session they are in.
  std::filesystem::path events;
  std::filesystem::path stop;  ///< made to ask for a stop (TUNEBENCH_STOP)
};

/// A child process that writes the step protocol to a pipe and reads requests from a socket. The
/// child's end of the socket gives end of file when the controller is gone.
class ChildRunning final : public Running {
 public:
  /// Errors: those of Child::start; Io when the system has no more descriptors.
  static std::unique_ptr<Running> start(
      std::vector<std::string> argv, std::vector<std::pair<std::string, std::string>> environment,
      const std::filesystem::path& log_file, const ChildFiles& files = {});

  std::optional<Event> next_event(std::chrono::nanoseconds timeout) override;
  [[nodiscard]] bool stream_ended() const override { return ended_; }
  [[nodiscard]] pid_t pid() const override { return child_.pid(); }
  [[nodiscard]] std::int64_t dropped_lines() const override { return reader_.dropped_lines(); }
  [[nodiscard]] RanksSeen ranks() const override { return ranks_.seen(); }
  void request_stop() override;
  void kill() override;
  ExitStatus wait(std::chrono::nanoseconds timeout) override;

 private:
  ChildRunning(Child child, Descriptor events, Descriptor control);
  /// Reads what is there; waits at most `timeout` for the first byte.
  void read_some(std::chrono::nanoseconds timeout);
  void drain();
  void end_stream();
  std::optional<Event> take();
  void kill_leftovers() const;

  Child child_;
  Descriptor events_;
  Descriptor control_;
  LineReader reader_;
  RankMerge ranks_;
  ChildFiles files_;
  Descriptor held_;  ///< a writer of the FIFO, so that it has no end while ranks come and go
  bool ended_ = false;
  bool stop_requested_ = false;
};

}  // namespace tunebench::trainer
