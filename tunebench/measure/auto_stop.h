#pragma once

#include "tunebench/experiment/experiment.h"
#include "tunebench/measure/measure.h"
#include "tunebench/measure/window.h"
#include "tunebench/record/record.h"

namespace tunebench::measure {

/// The rules of warm-up and window for a point: those of docs/metrics.md, or with auto_stop_method
/// WARMUP_60S_STABLE_120S_OR_10_STEPS those of that rule. With w = 1 + number of steps that end
/// within the first 60 s (steps laid end to end): the run ends as soon as at least ten steps and at
/// least 120 s lie behind the first w, which are warm-up.
Protocol protocol_for(const experiment::Point& point);

/// For a valid record of a point with auto_stop_method: whether the rule was satisfied and, if so,
/// train_runtime and the train_* and dataset_* rates over the window alone, as that rule leaves
/// warm-up out of every rate. Does nothing for other points.
void set_auto_stop_fields(record::Record& record, const Window::Result& window);

}  // namespace tunebench::measure
