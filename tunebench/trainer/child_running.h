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
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {

/// Numbers of the two descriptors in the child.
inline constexpr int kEventsDescriptor = 3;
inline constexpr int kControlDescriptor = 4;

/// A child process that writes the step protocol to a pipe and reads requests from a socket. The
/// child's end of the socket gives end of file when the controller is gone.
class ChildRunning final : public Running {
 public:
  /// Errors: those of Child::start; Io when the system has no more descriptors.
  static std::unique_ptr<Running> start(
      std::vector<std::string> argv, std::vector<std::pair<std::string, std::string>> environment,
      const std::filesystem::path& log_file);

  std::optional<Event> next_event(std::chrono::nanoseconds timeout) override;
  [[nodiscard]] bool stream_ended() const override { return ended_; }
  [[nodiscard]] pid_t pid() const override { return child_.pid(); }
  [[nodiscard]] std::int64_t dropped_lines() const override { return reader_.dropped_lines(); }
  void request_stop() override;
  void kill() override;
  ExitStatus wait(std::chrono::nanoseconds timeout) override;

 private:
  ChildRunning(Child child, Descriptor events, Descriptor control);
  /// Reads what is there; waits at most `timeout` for the first byte.
  void read_some(std::chrono::nanoseconds timeout);
  void drain();
  void end_stream();

  Child child_;
  Descriptor events_;
  Descriptor control_;
  LineReader reader_;
  bool ended_ = false;
  bool stop_requested_ = false;
};

}  // namespace tunebench::trainer
