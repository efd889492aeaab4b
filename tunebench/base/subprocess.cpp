#include "tunebench/base/subprocess.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tunebench/base/descriptor.h"
#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench {
namespace {

/// Above all numbers that a caller may ask for in the child.
constexpr int kParked = 200;

enum class Stage : int { Setup, Folder, Execute };

/// What the child reports when it does not get to run the program.
struct Failure {
  Stage stage;
  int reason;
};

std::string reason_text(int reason) {
  return std::generic_category().message(reason);
}

/// The program's path, looked up before the fork: afterwards nothing may allocate.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) {
    return name;
  }
  const char* path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "/usr/bin:/bin" : path, ':')) {
    std::string candidate = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
  }
  throw Error(ErrorCode::NotFound,
              fmt::format("cannot start '{}': no such program in PATH", printable(name)));
}

std::vector<std::string> environment_of(const ChildSpec& spec) {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=', 1);
    if (equals != std::string::npos) {
      variables[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  for (const auto& [name, value] : spec.environment) {
    variables[name] = value;
  }
  std::vector<std::string> entries;
  entries.reserve(variables.size());
  for (const auto& [name, value] : variables) {
    entries.push_back(fmt::format("{}={}", name, value));
  }
  return entries;
}

/// A null-terminated array of C strings over `texts`, which must outlive it.
std::vector<char*> c_strings(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

/// Everything the child needs, made before the fork.
struct Launch {
  std::string program;
  std::vector<char*> argv;
  std::vector<char*> environment;
  std::string folder;
  int input = -1;
  int output = -1;
  std::vector<std::pair<int, int>> descriptors;
  std::int64_t address_space_limit = 0;
  int report = -1;
  pid_t parent = 0;
  sigset_t signals{};
};

// From here to run_child only async-signal-safe calls are made, and no memory is taken.

[[noreturn]] void give_up(int report, Stage stage) {
  const Failure failure{stage, errno};
  // Whether it arrives or not, there is nothing else to be done.
  [[maybe_unused]] const ssize_t written = ::write(report, &failure, sizeof failure);
  ::_exit(127);
}

void park(int& descriptor, int report) {
  descriptor = ::fcntl(descriptor, F_DUPFD_CLOEXEC, kParked);
  if (descriptor < 0) {
    give_up(report, Stage::Setup);
  }
}

/// Parks all descriptors out of the way first, so that no target overwrites a source.
void place_descriptors(Launch& launch) {
  park(launch.report, launch.report);
  park(launch.input, launch.report);
  park(launch.output, launch.report);
  for (auto& [ours, theirs] : launch.descriptors) {
    park(ours, launch.report);
  }
  // Kernels before 5.11 do not know the call; there, what the parent left open stays open.
  ::syscall(SYS_close_range, 3U, ~0U, CLOSE_RANGE_CLOEXEC);
  bool placed = ::dup2(launch.input, 0) == 0 && ::dup2(launch.output, 1) == 1 &&
                ::dup2(launch.output, 2) == 2;
  for (const auto& [ours, theirs] : launch.descriptors) {
    placed = placed && ::dup2(ours, theirs) == theirs;
  }
  if (!placed) {
    give_up(launch.report, Stage::Setup);
  }
}

[[noreturn]] void run_child(Launch& launch) {
  // A parent that died before prctl sends no signal any more.
  if (::setpgid(0, 0) != 0 || ::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) {
    give_up(launch.report, Stage::Setup);
  }
  if (::getppid() != launch.parent) {
    ::_exit(127);
  }
  place_descriptors(launch);
  // What the parent ignores or blocks is no business of the child's.
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;  // NOLINT(cppcoreguidelines-pro-type-cstyle-cast): the C macro
  for (int number = 1; number < NSIG; ++number) {
    ::sigaction(number, &standard, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (launch.address_space_limit > 0) {
    const rlimit limit{static_cast<rlim_t>(launch.address_space_limit),
                       static_cast<rlim_t>(launch.address_space_limit)};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) {
      give_up(launch.report, Stage::Setup);
    }
  }
  if (!launch.folder.empty() && ::chdir(launch.folder.c_str()) != 0) {
    give_up(launch.report, Stage::Folder);
  }
  ::execve(launch.program.c_str(), launch.argv.data(), launch.environment.data());
  give_up(launch.report, Stage::Execute);
}

int open_output(const std::filesystem::path& log_file) {
  const bool discarded = log_file.empty();
  const char* path = discarded ? "/dev/null" : log_file.c_str();
  const int descriptor = ::open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) {
    throw Error(ErrorCode::Io,
                fmt::format("cannot write the log {}: {}", display_path(path), reason_text(errno)));
  }
  return descriptor;
}

[[noreturn]] void throw_not_started(const ChildSpec& spec, const Failure& failure) {
  const bool missing = failure.reason == ENOENT || failure.reason == ENOTDIR;
  std::string what = fmt::format("cannot start '{}'", printable(spec.argv.front()));
  if (failure.stage == Stage::Folder) {
    what += fmt::format(" in folder {}", display_path(spec.working_folder));
  } else if (failure.stage == Stage::Setup) {
    what += " (setting up the child process)";
  }
  throw Error(missing ? ErrorCode::NotFound : ErrorCode::Io,
              fmt::format("{}: {}", what, reason_text(failure.reason)));
}

/// With all signals held back, so that no handler of the parent runs in the child.
pid_t fork_child(Launch& launch) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) {
    run_child(launch);
  }
  const int reason = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = reason;
  return pid;
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

ExitStatus status_of(int word, const rusage& usage) {
  ExitStatus status;
  status.code = WIFEXITED(word) ? WEXITSTATUS(word) : 0;
  status.signal = WIFSIGNALED(word) ? WTERMSIG(word) : 0;
  status.peak_resident_bytes = static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
  status.user_s = seconds(usage.ru_utime);
  status.system_s = seconds(usage.ru_stime);
  return status;
}

ExitStatus reap(pid_t pid) {
  int word = 0;
  rusage usage{};
  pid_t got = -1;
  do {
    got = ::wait4(pid, &word, 0, &usage);
  } while (got < 0 && errno == EINTR);
  if (got != pid) {
    throw Error(ErrorCode::Internal, fmt::format("child process {} was waited for elsewhere", pid));
  }
  return status_of(word, usage);
}

}  // namespace

Child Child::start(const ChildSpec& spec) {
  TB_CHECK(!spec.argv.empty());
  std::vector<std::string> arguments = spec.argv;
  std::vector<std::string> variables = environment_of(spec);
  const Descriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const Descriptor output(open_output(spec.log_file));
  std::array<int, 2> ends = {-1, -1};
  if (input.get() < 0 || ::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw_not_started(spec, {Stage::Setup, errno});
  }
  const Descriptor reader(ends[0]);
  Descriptor writer(ends[1]);
  Launch launch;
  launch.program = find_program(spec.argv.front());
  launch.argv = c_strings(arguments);
  launch.environment = c_strings(variables);
  launch.folder = spec.working_folder.string();
  launch.input = input.get();
  launch.output = output.get();
  launch.descriptors = spec.descriptors;
  launch.address_space_limit = spec.address_space_limit_bytes;
  launch.report = writer.get();
  launch.parent = ::getpid();

  Child child;
  child.pid_ = fork_child(launch);
  if (child.pid_ < 0) {
    throw_not_started(spec, {Stage::Setup, errno});
  }
  writer.close();
  // The program's start closes the child's end of the pipe: nothing to read means that it runs.
  Failure failure{};
  ssize_t got = -1;
  do {
    got = ::read(reader.get(), &failure, sizeof failure);
  } while (got < 0 && errno == EINTR);
  if (got == static_cast<ssize_t>(sizeof failure)) {
    child.status_ = reap(child.pid_);
    throw_not_started(spec, failure);
  }
  return child;
}

Child::~Child() {
  if (pid_ > 0 && !status_) {
    signal_group(SIGKILL);
    int word = 0;
    while (::waitpid(pid_, &word, 0) < 0 && errno == EINTR) {
    }
  }
}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(std::exchange(other.status_, std::nullopt)) {}

Child& Child::operator=(Child&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(status_, other.status_);
  return *this;
}

std::optional<ExitStatus> Child::poll() {
  if (status_ || pid_ < 0) {
    return status_;
  }
  siginfo_t info{};
  int result = -1;
  do {
    info.si_pid = 0;
    result = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
  } while (result != 0 && errno == EINTR);
  if (result == 0 && info.si_pid == 0) {
    return std::nullopt;
  }
  // While the child is not yet waited for, its group's number cannot be given to anyone else.
  signal_group(SIGKILL);
  status_ = reap(pid_);
  return status_;
}

std::optional<ExitStatus> Child::wait_for(std::chrono::nanoseconds timeout) {
  using Time = std::chrono::steady_clock;
  constexpr std::chrono::nanoseconds kLongestNap = std::chrono::milliseconds(10);
  const Time::time_point start = Time::now();
  std::chrono::nanoseconds nap = std::chrono::microseconds(100);
  while (true) {
    if (std::optional<ExitStatus> status = poll()) {
      return status;
    }
    const std::chrono::nanoseconds left = timeout - (Time::now() - start);
    if (left <= std::chrono::nanoseconds::zero()) {
      return std::nullopt;
    }
    std::this_thread::sleep_for(std::min(nap, left));
    nap = std::min(nap * 2, kLongestNap);
  }
}

void Child::signal_group(int signal_number) noexcept {
  if (pid_ > 0 && !status_) {
    ::kill(-pid_, signal_number);
  }
}

}  // namespace tunebench
