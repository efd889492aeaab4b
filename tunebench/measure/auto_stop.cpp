#include "tunebench/measure/auto_stop.h"

#include <algorithm>

namespace tunebench::measure {
namespace {

bool has_auto_stop(const experiment::Inputs& inputs) {
  const auto method = inputs.find("auto_stop_method");
  return method != inputs.end() && !method->second.is_null();
}

}  // namespace

Protocol protocol_for(const experiment::Point& point) {
  Protocol protocol;
  if (has_auto_stop(point.inputs)) {
    protocol.fixed_warmup_s = 60;
    protocol.min_timed_steps = 10;
    protocol.min_timed_s = 120;
  }
  return protocol;
}

void set_auto_stop_fields(record::Record& record, const Window::Result& window) {
  if (!has_auto_stop(record.inputs)) {
    return;
  }
  const bool satisfied = window.warmup == Warmup::AutoStop;
  record.set("auto_stop", satisfied ? "satisfied" : "training ended first");
  const double seconds = static_cast<double>(window.end_ns - window.begin_ns) / 1e9;
  if (!satisfied || seconds <= 0) {
    return;
  }
  StepCounts timed;
  for (const StepCounts& step : window.timed_steps) {
    timed += step;
  }
  const auto gpus = record.inputs.find("number_gpus");
  const double devices =
      gpus == record.inputs.end() ? 1.0 : std::max(1.0, gpus->second.as_double());
  const auto rate = [&](const char* name, auto count, double divisor) {
    record.set(name, static_cast<double>(count) / seconds / divisor);
  };
  record.set("train_runtime", seconds);
  rate("train_samples_per_second", timed.samples, 1);
  rate("train_steps_per_second", window.timed_steps.size(), 1);
  rate("train_tokens_per_second", timed.tokens, 1);
  rate("train_tokens_per_gpu_per_second", timed.tokens, devices);
  rate("dataset_tokens_per_second", timed.tokens_nonpad, 1);
  rate("dataset_tokens_per_second_per_gpu", timed.tokens_nonpad, devices);
}

}  // namespace tunebench::measure
