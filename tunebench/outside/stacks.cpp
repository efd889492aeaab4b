#include <algorithm>

#include "tunebench/outside/stack.h"

namespace tunebench::outside {

const std::vector<std::unique_ptr<Stack>>& stacks() {
  static const std::vector<std::unique_ptr<Stack>> kStacks = [] {
    std::vector<std::unique_ptr<Stack>> list;
    list.push_back(make_hf_stack());
    list.push_back(make_fms_hf_tuning_stack());
    return list;
  }();
  return kStacks;
}

const Stack* find_stack(std::string_view name) {
  for (const std::unique_ptr<Stack>& stack : stacks()) {
    if (stack->name() == name) {
      return stack.get();
    }
  }
  return nullptr;
}

std::int64_t processes_of(const experiment::Point& point) {
  const std::int64_t gpus = point.integer("number_gpus");
  const std::string& backend = point.text("distributed_backend");
  return gpus >= 2 && backend != "None" ? gpus : 1;
}

std::string device_of(const experiment::Point& point) {
  return point.integer("number_gpus") > 0 ? "cuda" : "cpu";
}

std::vector<std::string> lora_modules(const experiment::Point& point) {
  const experiment::Experiment* experiment = experiment::find_experiment(point.experiment);
  const Json* listed = nullptr;
  if (experiment != nullptr) {
    for (const auto& [name, value] : experiment->fixed) {
      if (name == "target_modules_map") {
        listed = value.find(point.text("model_name"));
      }
    }
  }
  if (listed == nullptr) {
    return {"q_proj", "v_proj"};
  }
  std::vector<std::string> modules;
  for (const Json& module : listed->as_array()) {
    modules.push_back(module.as_string());
  }
  return modules;
}

std::string version_with_lock(const EnvironmentSpec& spec) {
  return spec.version + "+" + spec.lock_id();
}

}  // namespace tunebench::outside
