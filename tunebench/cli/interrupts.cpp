#include "tunebench/cli/interrupts.h"

#include <csignal>

#include <unistd.h>

namespace tunebench::cli {

namespace {

static_assert(std::atomic<int>::is_always_lock_free, "a signal handler sets it");
measure::StopFlag stop_flag;
std::atomic<int> first_signal{0};

extern "C" void on_interrupt(int signal_number) {
  int none = 0;
  first_signal.compare_exchange_strong(none, signal_number);
  if (stop_flag.level.fetch_add(1) >= 2) {
    ::_exit(128 + signal_number);
  }
}

void handle(int signal_number, void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(signal_number, &action, nullptr);
}

}  // namespace

Interrupts::Interrupts() {
  stop_flag.level.store(0);
  first_signal.store(0);
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    handle(signal_number, on_interrupt);
  }
}

Interrupts::~Interrupts() {
  for (const int signal_number : {SIGINT, SIGTERM, SIGHUP}) {
    handle(signal_number, SIG_DFL);
  }
}

measure::StopFlag& Interrupts::flag() {
  return stop_flag;
}

int Interrupts::exit_code() const {
  const int signal_number = first_signal.load();
  return signal_number == 0 ? 0 : 128 + signal_number;
}

}  // namespace tunebench::cli
