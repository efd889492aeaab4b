#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tunebench/base/json.h"

namespace tunebench::experiment {

/// What a trainer can do with the inputs: the input `trainer` takes these names, and validate()
/// refuses by name what a trainer does not honour. Trainer native has rules of its own beyond this
/// table (Property::native).
struct TrainerRules {
  std::string name;
  std::string help;                  ///< one line for lists
  bool takes_all = false;            ///< reads every input, whatever its value
  bool any_gpus = false;             ///< the GPUs need not be there: it plays a model
  bool needs_folder = false;         ///< a preset, which has random weights, is no model for it
  std::vector<std::string> methods;  ///< of experiments: full, lora, pt, gptq-lora
  /// Properties that it honours; of all others only the default is accepted.
  std::vector<std::string> honoured;
  /// Of a property, the only values that it can do.
  std::vector<std::pair<std::string, std::vector<Json>>> only;
};

/// All trainers, native first.
const std::vector<TrainerRules>& trainer_rules();
/// nullptr when there is none of that name.
const TrainerRules* find_trainer_rules(std::string_view name);
/// Names of the trainers that can run experiments of this method, in the table's order.
std::vector<std::string> trainers_for(std::string_view method);

}  // namespace tunebench::experiment
