#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tunebench/experiment/experiment.h"

namespace tunebench::outside {

/// For tests: a point with every input, the given ones in place of the defaults.
inline experiment::Point test_point(const std::vector<std::pair<std::string, Json>>& inputs,
                                    const char* id = "finetune_full_benchmark-v1.0.0") {
  experiment::Point point{id, {}};
  const experiment::Experiment& experiment = *experiment::find_experiment(id);
  for (const experiment::Property& property : experiment::properties()) {
    point.inputs[property.name] = property.default_value;
  }
  for (const auto* list : {&experiment.defaults, &experiment.fixed}) {
    for (const auto& [name, value] : *list) {
      if (experiment::find_property(name) != nullptr) {
        point.inputs[name] = value;
      }
    }
  }
  point.inputs["model_name"] = "some/folder";
  point.inputs["model_max_length"] = 64;
  point.inputs["batch_size"] = 4;
  for (const auto& [name, value] : inputs) {
    point.inputs[name] = value;
  }
  return point;
}

}  // namespace tunebench::outside
