#include "tunebench/measure/run_watch.h"

#include <algorithm>

#include "tunebench/base/thread_pool.h"
#include "tunebench/hardware/host.h"

namespace tunebench::measure {

void RunWatch::start(pid_t child, const PointGpus& gpus, std::chrono::milliseconds interval) {
  if (child <= 0) {
    return;
  }
  gpus_ = gpus;
  hardware::TelemetryOptions options;
  options.root = child;
  options.interval = interval;
  options.gpus = gpus_.monitor;
  options.devices = gpus_.devices;
  sampler_ = std::make_unique<hardware::TelemetrySampler>(options);
}

void RunWatch::stop() {
  if (sampler_ != nullptr) {
    sampler_->stop();
  }
}

std::int64_t RunWatch::tree_peak_bytes() const {
  std::int64_t peak = 0;
  if (sampler_ != nullptr) {
    for (const hardware::TelemetrySample& sample : sampler_->samples()) {
      peak = std::max(peak, sample.tree.resident_bytes);
    }
  }
  return peak;
}

void RunWatch::set_fields(record::Record& record, const TimedSpan& window) const {
  if (sampler_ == nullptr) {
    return;
  }
  const hardware::HostInfo host = hardware::read_host();
  const std::int64_t limit = host.memory_limit_bytes;
  set_telemetry_fields(record,
                       {.samples = sampler_->samples(),
                        .gpus = gpus_.identities(),
                        .gpus_missing = gpus_.missing,
                        .usable_cores = usable_cores(),
                        .usable_memory_bytes = limit > 0 ? std::min(limit, host.memory_total_bytes)
                                                         : host.memory_total_bytes},
                       window);
}

}  // namespace tunebench::measure
