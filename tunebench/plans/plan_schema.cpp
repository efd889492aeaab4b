#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"
#include "tunebench/plans/plan_document.h"
#include "tunebench/record/record.h"

namespace tunebench::plans {
namespace {

using experiment::Property;
using experiment::ValueType;

Json type(std::string_view name, std::string_view description = "") {
  Json schema = Json::object({{"type", name}});
  if (!description.empty()) {
    schema.set("description", description);
  }
  return schema;
}

Json words(const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) {
    list.push_back(name);
  }
  return list;
}

Json list_of(Json item) {
  return Json::object({{"type", "array"}, {"items", std::move(item)}, {"minItems", 1}});
}

Json any_of(Json::Array schemas) {
  return Json::object({{"anyOf", Json(std::move(schemas))}});
}

Json closed_object(Json properties, std::string_view description = "") {
  Json schema = type("object", description);
  schema.set("properties", std::move(properties));
  schema.set("additionalProperties", false);
  return schema;
}

/// One value of an input.
Json value_schema(const Property& property) {
  Json schema = Json::object();
  const experiment::Domain& domain = property.domain;
  if (!domain.values.empty() && !domain.open) {
    schema.set("enum", Json(Json::Array(domain.values)));
    return schema;
  }
  if (!domain.values.empty()) {
    return any_of({Json::object({{"enum", Json(Json::Array(domain.values))}}), type("string")});
  }
  const bool whole = property.type == ValueType::Integer;
  schema.set("type", whole ? "integer" : "number");
  if (domain.lower) {
    schema.set("minimum", *domain.lower);
  }
  if (domain.upper) {
    schema.set("exclusiveMaximum", *domain.upper);
  }
  return schema;
}

Json input_schema(const Property& property) {
  const bool number = property.type == ValueType::Integer || property.type == ValueType::Real;
  Json::Array ways{value_schema(property)};
  if (number) {
    ways.push_back(Json::object({{"type", "string"},
                                 {"pattern", "\\.\\."},
                                 {"description", "a range: 1..8, 512..2048:512, 1e-6..1e-3*10"}}));
    ways.push_back(Json::object({{"$ref", "#/definitions/range"}}));
  }
  ways.push_back(list_of(any_of(ways)));
  Json schema = any_of(std::move(ways));
  std::string help = property.help;
  if (!property.unit.empty()) {
    help += "; unit " + property.unit;
  }
  schema.set("description", help);
  if (!property.required) {
    schema.set("default", property.default_value);
  }
  return schema;
}

Json inputs_schema() {
  Json properties = Json::object();
  for (const Property& property : experiment::properties()) {
    properties.set(property.name, input_schema(property));
  }
  return closed_object(std::move(properties),
                       "values of each input; every combination is a point, the last input "
                       "varies fastest");
}

Json range_schema() {
  Json schema =
      closed_object(Json::object({{"from", type("number", "the first value")},
                                  {"to", type("number", "the last value")},
                                  {"step", type("number", "added each time")},
                                  {"factor", type("number", "multiplied each time")},
                                  {"count", type("integer", "so many, evenly by factor")}}),
                    "a range, both ends in");
  schema.set("required", Json::array({"from", "to"}));
  return schema;
}

Json option_schema(const config::OptionSpec& option) {
  if (!option.takes_value) {
    Json schema = type("boolean", option.help);
    schema.set("default", false);
    return schema;
  }
  // "grid|random" lists the words.
  if (option.value_name.find('|') != std::string::npos) {
    return Json::object(
        {{"enum", words(split(option.value_name, '|'))}, {"description", option.help}});
  }
  if (option.name == "experiment") {
    std::vector<std::string> ids;
    for (const experiment::Experiment& one : experiment::experiments()) {
      ids.push_back(one.id);
    }
    return Json::object({{"enum", words(ids)}, {"description", option.help}});
  }
  const bool number =
      option.value_name == "N" || option.value_name == "SECONDS" || option.value_name == "P";
  return number ? type("number", option.help)
                : Json::object(
                      {{"type", Json::array({"string", "number"})}, {"description", option.help}});
}

Json parameter_schema(const SearchParameter& parameter) {
  if (parameter.type == "integer") {
    Json schema = type("integer", parameter.help);
    schema.set("minimum", parameter.lowest);
    return schema;
  }
  if (parameter.type == "boolean") {
    return type("boolean", parameter.help);
  }
  if (parameter.type == "word") {
    return Json::object({{"enum", words(parameter.words)}, {"description", parameter.help}});
  }
  Json item = parameter.type == "inputs"
                  ? Json::object({{"enum", words(experiment::property_names())}})
              : parameter.type == "points" ? type("object")
                                           : type("number");
  Json schema = list_of(std::move(item));
  schema.set("description", parameter.help);
  return schema;
}

Json search_schema() {
  std::vector<std::string> names;
  Json::Array methods;
  for (const SearchMethod& method : search_methods()) {
    names.push_back(method.name);
    Json properties = Json::object(
        {{"method", Json::object({{"const", method.name}, {"description", method.help}})}});
    for (const SearchParameter& parameter : search_parameters()) {
      for (const std::string& name : method.parameters) {
        if (name == parameter.name) {
          properties.set(name, parameter_schema(parameter));
        }
      }
    }
    Json one = closed_object(std::move(properties));
    one.set("required", Json::array({"method"}));
    methods.push_back(std::move(one));
  }
  methods.insert(methods.begin(), Json::object({{"enum", words(names)}}));
  Json schema = any_of(std::move(methods));
  schema.set("description", "how points are chosen; default grid");
  return schema;
}

Json metric_schema() {
  std::vector<std::string> names;
  for (const record::Field& field : record::fields()) {
    if (field.type == record::FieldType::Integer || field.type == record::FieldType::Real) {
      names.push_back(field.name);
      names.push_back("max " + field.name);
      names.push_back("min " + field.name);
    }
  }
  return Json::object({{"enum", words(names)}});
}

Json stop_schema() {
  return closed_object(
      Json::object(
          {{"points", type("integer", "after so many points")},
           {"time", Json::object({{"type", Json::array({"number", "string"})},
                                  {"description", "after seconds, or 10 min, 2 h"}})},
           {"cost", type("number", "when so much is spent, by price")},
           {"no_improvement", type("integer", "after so many points without a better one")},
           {"interval",
            Json::object({{"type", Json::array({"number", "string"})},
                          {"description", "when half the 95 % interval is so many percent"}})}}),
      "when to end before all points are measured");
}

Json text_or_list(std::string_view description) {
  Json schema = any_of({type("string"), list_of(type("string"))});
  schema.set("description", description);
  return schema;
}

}  // namespace

Json plan_schema(const std::vector<config::OptionSpec>& options) {
  Json properties = Json::object({{"description", type("string", "free text")}});
  for (const config::OptionSpec& option : plan_options(options)) {
    properties.set(option.name, option_schema(option));
  }
  properties.set("keep_invalid",
                 type("boolean",
                      "record points that break a rule between inputs as invalid_config instead "
                      "of refusing the plan"));
  Json command = list_of(Json::object({{"type", Json::array({"string", "number"})}}));
  command.set("description", "program and arguments of trainer command: docs/trainers.md");
  properties.set("command", std::move(command));
  const Json inputs = Json::object({{"$ref", "#/definitions/inputs"}});
  properties.set("inputs", inputs);
  Json experiment = closed_object(
      Json::object({{"experiment", properties.at("experiment")}, {"inputs", inputs}}));
  experiment.set("required", Json::array({"experiment"}));
  Json experiments = list_of(std::move(experiment));
  experiments.set("description", "several experiments over one space, with inputs of their own");
  properties.set("experiments", std::move(experiments));
  properties.set("where", text_or_list("conditions that points must keep: docs/expressions.md"));
  properties.set("search", search_schema());
  const Json metric = Json::object({{"$ref", "#/definitions/metric"}});
  const Json metrics = any_of({metric, list_of(metric)});
  properties.set("optimize",
                 any_of({metric, list_of(metric),
                         closed_object(Json::object({{"max", metrics}, {"min", metrics}}))}));
  properties.set("stop", stop_schema());
  Json compare = closed_object(Json::object(
      {{"baseline", type("string", "a run, or the name of a baseline")},
       {"by", list_of(Json::object({{"enum", words(experiment::property_names())}}))}}));
  compare.set("required", Json::array({"baseline"}));
  properties.set("compare", any_of({type("string"), std::move(compare)}));
  properties.set("fail_if", text_or_list("a change that makes the run fail: tokens_per_s < -3%"));
  Json schema = Json::object(
      {{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "plan of tunebench"}});
  const Json body = closed_object(std::move(properties), "what to measure, and how");
  for (const auto& [key, value] : body.as_object()) {
    schema.set(key, value);
  }
  schema.set("definitions", Json::object({{"inputs", inputs_schema()},
                                          {"range", range_schema()},
                                          {"metric", metric_schema()}}));
  return schema;
}

}  // namespace tunebench::plans
