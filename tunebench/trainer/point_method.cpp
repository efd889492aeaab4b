#include "tunebench/trainer/point_method.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::trainer {
namespace {

/// Its default when the point has it not.
Json value_of(const experiment::Point& point, const char* name) {
  const auto found = point.inputs.find(name);
  return found == point.inputs.end() ? experiment::find_property(name)->default_value
                                     : found->second;
}

/// "q_proj v_proj" to a list; null stays.
Json words(const Json& text) {
  if (text.is_null()) {
    return text;
  }
  Json list = Json::array();
  for (const std::string& word : split(text.as_string(), ' ')) {
    if (!word.empty()) {
      list.push_back(word);
    }
  }
  return list;
}

/// What the experiment of the reference system adapts of this model; null: nothing is said of it.
Json targets_of_experiment(const experiment::Experiment& experiment, const std::string& model) {
  for (const auto& [name, value] : experiment.fixed) {
    if (name == "target_modules_map") {
      const Json* const targets = value.find(model);
      return targets == nullptr ? Json() : *targets;
    }
  }
  return {};
}

/// A text with a letter that no name has is an expression.
Json target_modules(const experiment::Experiment& experiment, const experiment::Point& point) {
  const Json given = value_of(point, "target_modules");
  if (given.is_null()) {
    return targets_of_experiment(experiment, point.text("model_name"));
  }
  const bool expression = given.as_string().find_first_of("*+?()[]{}|\\^$") != std::string::npos;
  return expression || given == Json("all-linear") ? given : words(given);
}

Json lora_config(const experiment::Experiment& experiment, const experiment::Point& point) {
  return Json::object({{"peft_type", "LORA"},
                       {"r", value_of(point, "r")},
                       {"lora_alpha", value_of(point, "lora_alpha")},
                       {"lora_dropout", value_of(point, "lora_dropout")},
                       {"use_rslora", value_of(point, "use_rslora")},
                       {"bias", value_of(point, "lora_bias")},
                       {"target_modules", target_modules(experiment, point)},
                       {"modules_to_save", words(value_of(point, "modules_to_save"))}});
}

Json prompt_config(const experiment::Point& point) {
  return Json::object({{"peft_type", "PROMPT_TUNING"},
                       {"num_virtual_tokens", value_of(point, "num_virtual_tokens")},
                       {"prompt_tuning_init", value_of(point, "prompt_tuning_init")},
                       {"prompt_tuning_init_text", value_of(point, "prompt_tuning_init_text")}});
}

/// Positions beyond the trained ones exist only where they are not learned.
void check_positions(const model::ModelSpec& spec, const engine::Method* method,
                     std::int64_t length) {
  const std::int64_t more = method == nullptr ? 0 : method->virtual_tokens();
  if (spec.positions == model::PositionKind::Learned && length + more > spec.max_positions) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("num_virtual_tokens {} and model_max_length {} are more than the {} "
                            "positions that the model has learned",
                            more, length, spec.max_positions));
  }
}

}  // namespace

std::shared_ptr<const engine::Method> method_of(const experiment::Point& point) {
  const experiment::Experiment* const experiment = experiment::find_experiment(point.experiment);
  if (experiment == nullptr || experiment->method == "full") {
    return nullptr;
  }
  if (experiment->method == "lora") {
    return engine::make_method(lora_config(*experiment, point), experiment->id);
  }
  if (experiment->method == "pt") {
    return engine::make_method(prompt_config(point), experiment->id);
  }
  return nullptr;
}

TrainingFacts training_facts(const model::ModelSource& source, const experiment::Point& point) {
  const std::shared_ptr<const engine::Method> method = method_of(point);
  check_positions(source.spec, method.get(), point.integer("model_max_length"));
  return {.trained_parameters = engine::trained_parameter_count(method.get(), source.spec),
          .flops_per_token = engine::training_flops_per_token(method.get(), source.spec,
                                                              point.integer("model_max_length"))};
}

}  // namespace tunebench::trainer
