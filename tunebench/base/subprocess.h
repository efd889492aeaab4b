#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

namespace tunebench {

/// How a child ended.
struct ExitStatus {
  int code = 0;                          ///< exit code, 0 when ended by a signal
  int signal = 0;                        ///< signal number, 0 when it exited
  std::int64_t peak_resident_bytes = 0;  ///< largest of the child and its waited-for children
  double user_s = 0;
  double system_s = 0;

  [[nodiscard]] bool ok() const { return code == 0 && signal == 0; }
};

/// What to start. No shell is involved; argv[0] is looked up in PATH.
struct ChildSpec {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to the parent's
  std::filesystem::path working_folder;                          ///< empty: the parent's
  std::filesystem::path log_file;  ///< stdout and stderr are appended here; empty: discarded
  std::vector<std::pair<int, int>> descriptors;  ///< (ours, number in the child) to pass on
  std::int64_t address_space_limit_bytes = 0;    ///< RLIMIT_AS; 0: none
};

/// A running child in its own process group. It and its group are killed when this object is
/// destroyed; what is left of the group is killed, too, once the child itself has ended. The child
/// also dies with the thread that started it (PR_SET_PDEATHSIG), so that thread must outlive it.
/// Errors: start throws NotFound or Io naming the program when it cannot be executed.
class Child {
 public:
  static Child start(const ChildSpec& spec);
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// The status once the child has ended; does not wait.
  std::optional<ExitStatus> poll();
  /// Waits at most `timeout`; nullopt when it still runs.
  std::optional<ExitStatus> wait_for(std::chrono::nanoseconds timeout);
  /// Sends a signal to the whole process group. No-op after the end.
  void signal_group(int signal_number) noexcept;

 private:
  Child() = default;
  pid_t pid_ = -1;
  std::optional<ExitStatus> status_;
};

}  // namespace tunebench
