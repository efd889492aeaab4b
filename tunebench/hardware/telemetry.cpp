#include "tunebench/hardware/telemetry.h"

#include <algorithm>
#include <condition_variable>
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

  void loop() {
    // Deadlines on a fixed grid: a slow sample does not shift the later ones.
    auto next = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex);
    while (!stopping) {
      lock.unlock();
      take();
      lock.lock();
      next = std::max(next + options.interval, std::chrono::steady_clock::now());
      wake.wait_until(lock, next, [this] { return stopping; });
    }
    lock.unlock();
    take();
  }
};

TelemetrySampler::TelemetrySampler(const TelemetryOptions& options)
    : state_(std::make_unique<State>(options)) {
  state_->thread = std::thread([state = state_.get()] { state->loop(); });
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
