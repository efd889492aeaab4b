// A trainer for tests that does what its arguments say, in order. It knows the step protocol from
// docs/step-protocol.md only and shares no code with the program.
//
//   hello           the hello event
//   phase:NAME      a phase event
//   us:N            how long each following step takes, in microseconds (1000)
//   counts:S,T,N,R  samples, tokens, tokens_nonpad, tokens_trained of following steps (2,20,18,16)
//   steps:N         N steps
//   busy            following steps compute instead of sleeping
//   memory:MIB      takes memory and writes to it; child-memory:MIB the same in a process of its
//   own until-stop      steps until the controller asks to stop raw:TEXT        TEXT as a line of
//   the events; cut:TEXT the same without the line break end             the end event log:TEXT
//   TEXT as a line of the log job             the job as a line of the log close-events    closes
//   the events descriptor leave-child     starts a process that keeps all descriptors and sleeps;
//   its pid goes to the log sleep:MS        sleeps exit:N  signal:N  abort  segv  hang
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include <poll.h>
#include <unistd.h>

namespace {

struct State {
  int events = -1;
  int control = -1;
  long step = 0;
  long us = 1000;
  bool busy = false;
  long counts[4] = {2, 20, 18, 16};
};

long long now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<long long>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

void sleep_us(long us) {
  timespec rest{.tv_sec = us / 1'000'000, .tv_nsec = us % 1'000'000 * 1000};
  while (::nanosleep(&rest, &rest) != 0 && errno == EINTR) {
  }
}

void spin_until(long long end_ns) {
  while (now_ns() < end_ns) {
  }
}

/// Never given back: it is there until the process ends.
void take_memory(std::size_t bytes) {
  // Held until the end, and not a leak.
  static volatile char* memory = nullptr;
  memory = static_cast<volatile char*>(std::realloc(const_cast<char*>(memory), bytes));
  if (memory == nullptr) {
    std::_Exit(9);
  }
  for (std::size_t at = 0; at < bytes; at += 4096) {
    memory[at] = 1;
  }
}

/// Returns when the child holds its memory.
void take_memory_in_child(std::size_t bytes) {
  int ready[2];
  if (::pipe(ready) != 0) {
    std::_Exit(9);
  }
  if (::fork() == 0) {
    take_memory(bytes);
    if (::write(ready[1], "r", 1) != 1) {
      std::_Exit(9);
    }
    ::pause();
    std::_Exit(0);
  }
  char answer = 0;
  if (::read(ready[0], &answer, 1) != 1) {
    std::_Exit(9);
  }
}

void put(const State& state, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(state.events, text.data(), text.size());
    if (written < 0) {
      std::_Exit(8);
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void log(const char* text) {
  std::fprintf(stderr, "%s\n", text);
  std::fflush(stderr);
}

void make_step(State& state) {
  const long long t0 = now_ns();
  if (state.busy) {
    spin_until(t0 + state.us * 1000);
  } else {
    sleep_us(state.us);
  }
  const long long t1 = now_ns();
  ++state.step;
  char line[512];
  std::snprintf(line, sizeof line,
                "{\"event\":\"step\",\"n\":%ld,\"t0\":%lld,\"t1\":%lld,\"samples\":%ld,"
                "\"tokens\":%ld,\"tokens_nonpad\":%ld,\"tokens_trained\":%ld,\"loss\":%.17g,"
                "\"grad_norm\":0.5,\"lr\":1e-05}\n",
                state.step, t0, t1, state.counts[0], state.counts[1], state.counts[2],
                state.counts[3], 3.0 / static_cast<double>(state.step));
  put(state, line);
}

/// Something has come, or the controller is gone.
bool control_readable(const State& state) {
  pollfd control{.fd = state.control, .events = POLLIN, .revents = 0};
  return ::poll(&control, 1, 0) > 0;
}

void leave_child() {
  const pid_t child = ::fork();
  if (child == 0) {
    for (int i = 0; i < 600; ++i) {
      ::sleep(1);
    }
    std::_Exit(0);
  }
  log(std::to_string(child).c_str());
}

void end_badly(std::string_view action, const std::string& argument) {
  if (action == "exit") {
    std::_Exit(std::atoi(argument.c_str()));
  }
  if (action == "signal") {
    ::raise(std::atoi(argument.c_str()));
  } else if (action == "abort") {
    std::abort();
  } else if (action == "segv") {
    std::signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would turn it into an exit code
    ::raise(SIGSEGV);
  } else if (action == "hang") {
    while (true) {
      ::pause();
    }
  } else {
    std::fprintf(stderr, "unknown action '%.*s'\n", static_cast<int>(action.size()), action.data());
    std::_Exit(99);
  }
}

void step_until_stop(State& state) {
  while (!control_readable(state)) {
    make_step(state);
  }
}

bool tell(State& state, std::string_view action, const std::string& argument) {
  if (action == "hello") {
    put(state, "{\"event\":\"hello\",\"trainer\":\"scripted\",\"version\":\"7\",\"pid\":" +
                   std::to_string(::getpid()) +
                   ",\"device\":\"cpu\",\"isa\":\"none\",\"threads\":1}\n");
  } else if (action == "phase") {
    put(state, "{\"event\":\"phase\",\"name\":\"" + argument +
                   "\",\"t\":" + std::to_string(now_ns()) + "}\n");
  } else if (action == "raw") {
    put(state, argument + "\n");
  } else if (action == "cut") {
    put(state, argument);
  } else if (action == "end") {
    put(state,
        "{\"event\":\"end\",\"status\":\"ok\",\"steps\":" + std::to_string(state.step) + "}\n");
  } else {
    return false;
  }
  return true;
}

bool train(State& state, std::string_view action, const std::string& argument) {
  const auto mib = [&argument] {
    return static_cast<std::size_t>(std::atol(argument.c_str())) * 1024 * 1024;
  };
  if (action == "busy") {
    state.busy = true;
  } else if (action == "memory") {
    take_memory(mib());
  } else if (action == "child-memory") {
    take_memory_in_child(mib());
  } else if (action == "us") {
    state.us = std::atol(argument.c_str());
  } else if (action == "counts") {
    std::sscanf(argument.c_str(), "%ld,%ld,%ld,%ld", &state.counts[0], &state.counts[1],
                &state.counts[2], &state.counts[3]);
  } else if (action == "steps") {
    for (long i = std::atol(argument.c_str()); i > 0; --i) {
      make_step(state);
    }
  } else if (action == "until-stop") {
    step_until_stop(state);
  } else {
    return false;
  }
  return true;
}

void act(State& state, std::string_view word) {
  const std::size_t colon = word.find(':');
  const std::string_view action = word.substr(0, colon);
  const std::string argument(colon == std::string_view::npos ? "" : word.substr(colon + 1));
  if (tell(state, action, argument) || train(state, action, argument)) {
    return;
  }
  if (action == "log") {
    log(argument.c_str());
  } else if (action == "job") {
    log(std::getenv("TUNEBENCH_JOB"));
  } else if (action == "close-events") {
    ::close(state.events);
  } else if (action == "leave-child") {
    leave_child();
  } else if (action == "sleep") {
    sleep_us(std::atol(argument.c_str()) * 1000);
  } else {
    end_badly(action, argument);
  }
}

int descriptor(const char* name) {
  const char* number = std::getenv(name);
  return number == nullptr ? -1 : std::atoi(number);
}

}  // namespace

int main(int argc, char** argv) {
  State state;
  state.events = descriptor("TUNEBENCH_EVENTS_FD");
  state.control = descriptor("TUNEBENCH_CONTROL_FD");
  for (int i = 1; i < argc; ++i) {
    act(state, argv[i]);
  }
  return 0;
}
