#include "tunebench/hardware/telemetry.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

#include "tunebench/base/clock.h"

namespace tunebench::hardware {

struct TelemetrySampler::State {
  explicit State(const TelemetryOptions& given) : options(given), counters(given.proc, given.sys) {}

  TelemetryOptions options;
  CpuCounterReader counters;
  std::vector<TelemetrySample> samples;
  std::mutex mutex;
  std::condition_variable wake;
  bool stopping = false;
  std::thread thread;

  void take() {
    TelemetrySample sample;
    sample.time = system_clock().now();
    sample.tree = read_tree_usage(options.root, options.proc);
    sample.machine = counters.read();
    for (const int device : options.devices) {
      sample.gpus.push_back(options.gpus->read(device));
    }
    samples.push_back(std::move(sample));
  }

  [[nodiscard]] std::chrono::nanoseconds step_after(std::chrono::nanoseconds elapsed) const {
    const std::chrono::nanoseconds longest = options.interval;
    return std::clamp(elapsed / 16,
                      std::min<std::chrono::nanoseconds>(options.first_interval, longest), longest);
  }

  void loop() {
    // Deadlines on a fixed grid: a slow sample does not shift the later ones.
    const auto begin = std::chrono::steady_clock::now();
    auto next = begin;
    std::unique_lock lock(mutex);
    while (!stopping) {
      lock.unlock();
      take();
      lock.lock();
      next = std::max(next + step_after(next - begin), std::chrono::steady_clock::now());
      wake.wait_until(lock, next, [this] { return stopping; });
    }
    lock.unlock();
    take();
  }
};

TelemetrySampler::TelemetrySampler(const TelemetryOptions& options)
    : state_(std::make_unique<State>(options)) {
  // ctrl-C must wake the thread that waits for the child, not this one.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  state_->thread = std::thread([state = state_.get()] { state->loop(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TelemetrySampler::~TelemetrySampler() {
  stop();
}

void TelemetrySampler::stop() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->wake.notify_all();
  if (state_->thread.joinable()) {
    state_->thread.join();
  }
}

const std::vector<TelemetrySample>& TelemetrySampler::samples() const {
  return state_->samples;
}

}  // namespace tunebench::hardware
