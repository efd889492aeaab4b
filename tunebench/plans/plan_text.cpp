#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/plans/plan_document.h"

namespace tunebench::plans {
namespace {

/// A value in flow style.
std::string flow(const Json& value) {
  if (value.is_array()) {
    std::vector<std::string> items;
    for (const Json& item : value.as_array()) {
      items.push_back(flow(item));
    }
    return "[" + join(items, ", ") + "]";
  }
  if (value.is_object()) {
    std::vector<std::string> members;
    for (const auto& [key, member] : value.as_object()) {
      members.push_back(config::yaml_scalar(Json(key)) + ": " + flow(member));
    }
    return "{" + join(members, ", ") + "}";
  }
  return config::yaml_scalar(value);
}

std::string values_text(const std::vector<Json>& values) {
  return values.size() == 1 && !values[0].is_array() ? flow(values[0])
                                                     : flow(Json(Json::Array(values)));
}

std::string inputs_text(const std::vector<experiment::GivenValues>& inputs,
                        const std::string& indent) {
  std::string text;
  for (const experiment::GivenValues& input : inputs) {
    text += fmt::format("{}{}: {}\n", indent, input.property, values_text(input.values));
  }
  return text;
}

/// An option's value as it was typed: a number stays one.
std::string option_text(const config::GivenOption& option) {
  if (option.value.empty()) {
    return "true";
  }
  const Json value = config::core_scalar(option.value);
  return value.is_number() ? option.value : config::yaml_scalar(Json(option.value));
}

std::string search_text(const campaign::SearchRequest& search) {
  std::string text;
  if (search.method != "grid" || !search.parameters.as_object().empty()) {
    Json part = Json::object({{"method", search.method}});
    for (const auto& [name, value] : search.parameters.as_object()) {
      part.set(name, value);
    }
    text += "search: " + flow(part) + "\n";
  }
  if (!search.objectives.empty()) {
    Json metrics = Json::array();
    for (const campaign::Objective& one : search.objectives) {
      metrics.push_back((one.maximize ? "max " : "min ") + one.metric);
    }
    text += "optimize: " + flow(metrics) + "\n";
  }
  return text;
}

std::string stop_text(const campaign::StopRequest& stop) {
  Json part = Json::object();
  if (stop.points) {
    part.set("points", *stop.points);
  }
  if (stop.time_s) {
    part.set("time", *stop.time_s);
  }
  if (stop.cost) {
    part.set("cost", *stop.cost);
  }
  if (stop.no_improvement) {
    part.set("no_improvement", *stop.no_improvement);
  }
  if (stop.interval) {
    part.set("interval", shortest(*stop.interval * 100) + "%");
  }
  return part.as_object().empty() ? "" : "stop: " + flow(part) + "\n";
}

std::string compare_text(const PlanDocument& document) {
  std::string text;
  if (document.compare) {
    Json part = Json::object({{"baseline", document.compare->baseline}});
    if (!document.compare->by.empty()) {
      Json by = Json::array();
      for (const std::string& name : document.compare->by) {
        by.push_back(name);
      }
      part.set("by", std::move(by));
    }
    text += "compare: " + flow(part) + "\n";
  }
  if (!document.fail_if.empty()) {
    text += "fail_if:\n";
    for (const campaign::GateRequest& gate : document.fail_if) {
      text += "  - " + Json(gate.text).dump() + "\n";
    }
  }
  return text;
}

}  // namespace

std::string plan_text(const PlanDocument& document) {
  std::string text = "# yaml-language-server: $schema=tunebench-plan.schema.json\n";
  for (const config::GivenOption& option : document.options) {
    text += option.name + ": " + option_text(option) + "\n";
  }
  if (document.keep_invalid) {
    text += "keep_invalid: true\n";
  }
  if (!document.command.empty()) {
    text += "command:\n";
    for (const std::string& word : document.command) {
      text += "  - " + Json(word).dump() + "\n";
    }
  }
  if (!document.inputs.empty()) {
    text += "inputs:\n" + inputs_text(document.inputs, "  ");
  }
  if (!document.experiments.empty()) {
    text += "experiments:\n";
    for (const space::ExperimentChoice& choice : document.experiments) {
      text += "  - experiment: " + config::yaml_scalar(Json(choice.experiment->id)) + "\n";
      if (!choice.given.empty()) {
        text += "    inputs:\n" + inputs_text(choice.given, "      ");
      }
    }
  }
  if (!document.rules.empty()) {
    text += "where:\n";
    for (const space::RuleText& rule : document.rules) {
      text += "  - " + Json(rule.text).dump() + "\n";
    }
  }
  return text + search_text(document.search) + stop_text(document.stop) + compare_text(document);
}

}  // namespace tunebench::plans
