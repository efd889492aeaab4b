#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tunebench/campaign/plan.h"
#include "tunebench/experiment/property.h"

namespace tunebench::campaign {

/// For tests: a plan of model tiny at length 32, one point a batch size, each of `steps` steps.
inline Plan plan_of_batches(std::span<const int> batches, Repeats repeats, std::int64_t steps,
                            double timeout_s = 1e6) {
  Plan plan{.experiment = "finetune_full_benchmark-v1.0.0", .repeats = repeats};
  for (const int batch : batches) {
    PlannedPoint planned;
    planned.point.experiment = plan.experiment;
    for (const experiment::Property& property : experiment::properties()) {
      planned.point.inputs[property.name] = property.default_value;
    }
    planned.point.inputs["model_name"] = "tiny";
    planned.point.inputs["model_max_length"] = 32;
    planned.point.inputs["batch_size"] = batch;
    planned.point.inputs["max_steps"] = steps;
    planned.title = "batch=" + std::to_string(batch);
    planned.key = "key of " + planned.title;
    planned.planned_steps = steps;
    planned.timeout_s = timeout_s;
    plan.points.push_back(std::move(planned));
  }
  return plan;
}

}  // namespace tunebench::campaign
