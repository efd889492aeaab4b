#include "tunebench/cli/detach.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <ostream>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"

namespace tunebench::cli {

namespace {

[[noreturn]] void throw_no_process(const char* what) {
  throw Error(ErrorCode::Io,
              fmt::format("cannot measure in the background: {}: {}", what,
                          std::error_code(errno, std::generic_category()).message()));
}

/// All three standard streams: a terminal that is kept open would wait for this process.
void leave_terminal(const std::filesystem::path& log) {
  ::setsid();
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(file, STDOUT_FILENO);
  ::dup2(file, STDERR_FILENO);
}

[[noreturn]] void be_the_child(int tell, const std::filesystem::path& log,
                               const std::filesystem::path& folder,
                               const std::function<int(Console&, const Started&)>& body) {
  leave_terminal(log);
  int code = kOurBug;
  {
    std::ofstream out(log, std::ios::app);
    Console console{.out = out, .err = out, .live = false};
    const Started started = [&](const std::string& name) {
      std::error_code ignored;
      std::filesystem::rename(log, folder / (name + ".out"), ignored);
      static_cast<void>(!::write(tell, name.data(), name.size()));
      ::close(tell);
    };
    code = guarded(console, [&] { return body(console, started); });
  }
  ::_exit(code);
}

std::string read_to_end(int descriptor) {
  std::string text;
  std::array<char, 256> buffer{};
  while (true) {
    const ssize_t got = ::read(descriptor, buffer.data(), buffer.size());
    if (got > 0) {
      text.append(buffer.data(), static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return text;
    }
  }
}

}  // namespace

int run_detached(const std::filesystem::path& folder, Console& console,
                 const std::function<int(Console&, const Started&)>& body) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  const std::filesystem::path log = folder / fmt::format("detached-{}.out", ::getpid());
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw_no_process("no pipe");
  }
  console.out.flush();
  console.err.flush();
  const pid_t child = ::fork();
  if (child < 0) {
    throw_no_process("no process");
  }
  if (child == 0) {
    ::close(ends[0]);
    be_the_child(ends[1], log, folder, body);
  }
  ::close(ends[1]);
  const std::string name = read_to_end(ends[0]);
  ::close(ends[0]);
  if (!name.empty()) {
    console.err << fmt::format(
        "run : {}  in the background   state: tunebench watch {}   end: tunebench stop {}   "
        "output: {}\n",
        name, name, name, display_path(folder / (name + ".out")));
    write_result(console, name + "\n");
    return kOk;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  console.err << (std::filesystem::exists(log, failure) ? read_file(log) : std::string());
  std::filesystem::remove(log, failure);
  return WIFEXITED(status) ? WEXITSTATUS(status) : static_cast<int>(kOurBug);
}

}  // namespace tunebench::cli
