// Stoppers of ray_tune: parameters by position or by keyword.
#include <algorithm>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/plans/internal/ado_search.h"

namespace tunebench::plans {
namespace {

using config::MappingReader;
using config::YamlNode;

struct StopperParameter {
  std::string name;
  std::string type;  ///< "mode", "metric", "integer", "number", "boolean", "text"
  bool required = false;
};

struct Stopper {
  std::string name;
  std::vector<StopperParameter> parameters;  ///< in the order of positions
};

const std::vector<Stopper>& stoppers() {
  static const std::vector<Stopper> kStoppers{
      {"SimpleStopper",
       {{"mode", "mode", true},
        {"metric", "metric", true},
        {"experiment_key", "text"},
        {"min_trials", "integer"},
        {"buffer_states", "integer"},
        {"stop_on_repeat", "boolean"},
        {"count_nan", "boolean"}}},
      {"GrowthStopper",
       {{"mode", "mode", true},
        {"metric", "metric", true},
        {"growth_threshold", "number"},
        {"grace_trials", "integer"}}},
      {"MaxSamplesStopper", {{"max_samples", "integer", true}}},
      {"InformationGainStopper",
       {{"mi_diff_limit", "number", true},
        {"samples_below_limit", "integer", true},
        {"consider_pareto_front_convergence", "boolean", true}}},
      {"RepeatedSampleStopper", {{"max_repeats", "integer"}, {"experiment_key", "text"}}},
      {"BayesianMetricDifferenceStopper",
       {{"metric_a", "metric", true},
        {"metric_b", "metric", true},
        {"threshold", "number", true},
        {"target_probability", "number"},
        {"min_samples", "integer"}}},
      {"TimeoutStopper", {{"timeout", "number", true}}}};
  return kStoppers;
}

/// The value, checked; null and a mistake when it is of another kind.
Json checked_value(const StopperParameter& parameter, const YamlNode& node, MappingReader& reader,
                   const PlanDocument& document) {
  if (parameter.type == "metric") {
    const std::string metric = metric_of(reader, node, document);
    return metric.empty() ? Json() : Json(metric);
  }
  if (parameter.type == "mode") {
    if (node.text == "min" || node.text == "max") {
      return Json(node.text);
    }
    reader.wrong_type(parameter.name, node, "min or max");
    return {};
  }
  const Json value = node.json();
  const bool fits = (parameter.type == "integer" && value.is_int() && value.as_int() >= 0) ||
                    (parameter.type == "number" && value.is_number()) ||
                    (parameter.type == "boolean" && value.is_bool()) ||
                    (parameter.type == "text" && value.is_string());
  if (!fits) {
    reader.wrong_type(parameter.name, node,
                      parameter.type == "integer"   ? "a whole number"
                      : parameter.type == "boolean" ? "true or false"
                                                    : "a " + parameter.type);
    return {};
  }
  return value;
}

void read_positions(const Stopper& stopper, MappingReader& reader, const PlanDocument& document,
                    campaign::NamedStopper& named) {
  const std::vector<const YamlNode*> values = reader.list("positionalParams");
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i >= stopper.parameters.size()) {
      reader.wrong(*values[i],
                   fmt::format("{} takes {} parameters", stopper.name, stopper.parameters.size()));
      return;
    }
    named.parameters.set(stopper.parameters[i].name,
                         checked_value(stopper.parameters[i], *values[i], reader, document));
  }
}

void read_keywords(const Stopper& stopper, MappingReader& reader, const PlanDocument& document,
                   campaign::NamedStopper& named) {
  const YamlNode* node = reader.take("keywordParams");
  if (node == nullptr || node->is_null()) {
    return;
  }
  MappingReader keywords(reader.source(), *node, "keywordParams", reader.problems());
  for (const StopperParameter& parameter : stopper.parameters) {
    const YamlNode* value = keywords.take(parameter.name);
    if (value == nullptr) {
      continue;
    }
    if (named.parameters.find(parameter.name) != nullptr) {
      keywords.wrong(*value,
                     fmt::format("'{}' is given by position and by keyword", parameter.name));
      continue;
    }
    named.parameters.set(parameter.name, checked_value(parameter, *value, keywords, document));
  }
  keywords.finish(fmt::format("parameter of {}", stopper.name));
}

/// What a plan of ours can say is said there.
void add_stopper(campaign::NamedStopper named, PlanDocument& document) {
  if (named.name == "MaxSamplesStopper" && named.parameters.at("max_samples").is_int()) {
    const std::int64_t most = named.parameters.at("max_samples").as_int();
    document.stop.points = std::min(document.stop.points.value_or(most), most);
  } else if (named.name == "TimeoutStopper" && named.parameters.at("timeout").is_number()) {
    const double most = named.parameters.at("timeout").as_double();
    document.stop.time_s = std::min(document.stop.time_s.value_or(most), most);
  } else {
    document.stop.stoppers.push_back(std::move(named));
  }
}

void read_stopper(const YamlNode& item, MappingReader& list, PlanDocument& document) {
  MappingReader reader(list.source(), item, "stop", list.problems());
  const YamlNode* name = reader.require("name");
  if (name == nullptr) {
    return;
  }
  std::vector<std::string> names;
  for (const Stopper& one : stoppers()) {
    names.push_back(one.name);
  }
  const auto found = std::ranges::find(stoppers(), name->text, &Stopper::name);
  if (found == stoppers().end()) {
    reader.wrong(*name, fmt::format("unknown stopper '{}'", excerpt(name->text)),
                 did_you_mean(name->text, names));
    return;
  }
  const std::size_t before = list.problems().size();
  campaign::NamedStopper named{.name = found->name, .where = list.source().where(name->place)};
  read_positions(*found, reader, document, named);
  read_keywords(*found, reader, document, named);
  reader.finish();
  for (const StopperParameter& parameter : found->parameters) {
    if (parameter.required && named.parameters.find(parameter.name) == nullptr) {
      reader.wrong(*name, fmt::format("{} needs '{}'", found->name, parameter.name));
    }
  }
  if (list.problems().size() == before) {
    add_stopper(std::move(named), document);
  }
}

}  // namespace

void read_stoppers(MappingReader& reader, PlanDocument& document) {
  for (const YamlNode* item : reader.list("stop")) {
    read_stopper(*item, reader, document);
  }
}

}  // namespace tunebench::plans
