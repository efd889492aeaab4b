#include "tunebench/trainer/child_running.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/trainer/leftovers.h"

namespace tunebench::trainer {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

/// How often a silent child is looked at. A grandchild may hold the pipe open after the child's
/// end, so the end of the stream alone is not enough.
constexpr milliseconds kLookAtChild{50};

[[noreturn]] void throw_system(const char* what) {
  throw Error(ErrorCode::Io,
              std::string(what) + ": " + std::error_code(errno, std::generic_category()).message());
}

std::pair<Descriptor, Descriptor> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw_system("no pipe for the trainer's events");
  }
  std::pair<Descriptor, Descriptor> pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  if (::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) {
    throw_system("no pipe for the trainer's events");
  }
  return pipe;
}

/// Both ends of a new FIFO. The reader is opened first: a FIFO without one cannot be written.
std::pair<Descriptor, Descriptor> make_fifo(const std::filesystem::path& path) {
  if (::mkfifo(path.c_str(), 0600) != 0) {
    throw_system("no FIFO for the trainer's events");
  }
  Descriptor reader(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  Descriptor writer(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (reader.get() < 0 || writer.get() < 0) {
    throw_system("no FIFO for the trainer's events");
  }
  return {std::move(reader), std::move(writer)};
}

/// A socket, not a pipe: writing to a child that is gone must not raise SIGPIPE in the controller.
std::pair<Descriptor, Descriptor> make_control() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    throw_system("no socket for the trainer's control");
  }
  return {Descriptor(ends[0]), Descriptor(ends[1])};
}

}  // namespace

std::unique_ptr<Running> ChildRunning::start(
    std::vector<std::string> argv, std::vector<std::pair<std::string, std::string>> environment,
    const std::filesystem::path& log_file, const ChildFiles& files) {
  if (log_file.has_parent_path()) {
    std::error_code problem;
    std::filesystem::create_directories(log_file.parent_path(), problem);
    if (problem) {
      throw Error(ErrorCode::Io, "cannot make folder " + display_path(log_file.parent_path()) +
                                     ": " + problem.message());
    }
  }
  auto [events, childs_events] = files.events.empty() ? make_pipe() : make_fifo(files.events);
  auto [control, childs_control] = make_control();
  ChildSpec spec;
  spec.argv = std::move(argv);
  spec.environment = std::move(environment);
  spec.environment.emplace_back("TUNEBENCH_EVENTS_FD", std::to_string(kEventsDescriptor));
  spec.environment.emplace_back("TUNEBENCH_CONTROL_FD", std::to_string(kControlDescriptor));
  if (!files.events.empty()) {
    spec.environment.emplace_back("TUNEBENCH_EVENTS", files.events.string());
  }
  if (!files.stop.empty()) {
    spec.environment.emplace_back("TUNEBENCH_STOP", files.stop.string());
  }
  spec.working_folder = files.working_folder;
  spec.log_file = log_file;
  spec.descriptors = {{childs_events.get(), kEventsDescriptor},
                      {childs_control.get(), kControlDescriptor}};
  std::unique_ptr<ChildRunning> running(
      new ChildRunning(Child::start(spec), std::move(events), std::move(control)));
  running->files_ = files;
  if (!files.events.empty()) {
    running->held_ = std::move(childs_events);
  }
  return running;
}

ChildRunning::ChildRunning(Child child, Descriptor events, Descriptor control)
    : child_(std::move(child)), events_(std::move(events)), control_(std::move(control)) {}

std::optional<Event> ChildRunning::next_event(nanoseconds timeout) {
  const steady_clock::time_point deadline = steady_clock::now() + timeout;
  while (true) {
    std::optional<Event> event = take();
    if (event.has_value() || ended_) {
      return event;
    }
    const nanoseconds left = deadline - steady_clock::now();
    if (left <= nanoseconds::zero() && timeout > nanoseconds::zero()) {
      return std::nullopt;
    }
    read_some(std::clamp<nanoseconds>(left, nanoseconds::zero(), kLookAtChild));
    if (timeout <= nanoseconds::zero()) {
      return take();
    }
  }
}

std::optional<Event> ChildRunning::take() {
  while (std::optional<Event> event = reader_.take()) {
    ranks_.add(std::move(*event));
  }
  return ranks_.take();
}

void ChildRunning::read_some(nanoseconds timeout) {
  pollfd descriptor{.fd = events_.get(), .events = POLLIN, .revents = 0};
  // Rounded up: a rest below a millisecond must not spin.
  const int wait_ms = static_cast<int>(std::chrono::ceil<milliseconds>(timeout).count());
  const int ready = ::poll(&descriptor, 1, wait_ms);
  if (ready > 0) {
    drain();
  } else if (child_.poll().has_value()) {
    drain();
    if (!ended_) {
      end_stream();
    }
  }
}

void ChildRunning::drain() {
  std::array<char, 65536> buffer{};
  while (!ended_) {
    const ssize_t got = ::read(events_.get(), buffer.data(), buffer.size());
    if (got > 0) {
      reader_.feed({buffer.data(), static_cast<std::size_t>(got)});
      continue;
    }
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0 && errno == EAGAIN) {
      return;
    }
    end_stream();
  }
}

void ChildRunning::end_stream() {
  reader_.finish();
  events_.close();
  ended_ = true;
}

void ChildRunning::request_stop() {
  if (stop_requested_) {
    return;
  }
  stop_requested_ = true;
  static constexpr std::string_view kStop = "stop\n";
  // A child that is gone or does not read is no error: its end is seen elsewhere.
  static_cast<void>(
      ::send(control_.get(), kStop.data(), kStop.size(), MSG_NOSIGNAL | MSG_DONTWAIT));
  if (!files_.stop.empty()) {
    const Descriptor made(::open(files_.stop.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }
}

void ChildRunning::kill() {
  child_.signal_group(SIGKILL);
  kill_leftovers();
}

void ChildRunning::kill_leftovers() const {
  if (!files_.events.empty()) {
    static_cast<void>(kill_processes_with("TUNEBENCH_EVENTS=" + files_.events.string()));
  }
}

ExitStatus ChildRunning::wait(nanoseconds timeout) {
  const steady_clock::time_point deadline = steady_clock::now() + timeout;
  while (true) {
    std::optional<ExitStatus> status = child_.wait_for(std::min<nanoseconds>(
        kLookAtChild, std::max<nanoseconds>(deadline - steady_clock::now(), nanoseconds::zero())));
    if (status.has_value()) {
      kill_leftovers();
      return *status;
    }
    if (!ended_) {
      drain();  // a child that waits for room in the pipe would never end
    }
    if (steady_clock::now() >= deadline) {
      kill();
      break;
    }
  }
  while (true) {
    const std::optional<ExitStatus> status = child_.wait_for(std::chrono::seconds(1));
    if (status.has_value()) {
      return *status;
    }
  }
}

}  // namespace tunebench::trainer
