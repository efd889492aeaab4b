#include <algorithm>

#include <fmt/core.h>

#include "tunebench/base/json.h"
#include "tunebench/base/text.h"
#include "tunebench/cli/command.h"
#include "tunebench/data/dataset.h"
#include "tunebench/experiment/experiment.h"
#include "tunebench/model/model_source.h"
#include "tunebench/record/record.h"
#include "tunebench/report/text_table.h"

namespace tunebench::cli {

namespace {

using report::TextTable;

std::string json_text(const Json& rows) {
  return rows.dump(2) + "\n";
}

Json pairs_json(const std::vector<std::pair<std::string, Json>>& pairs) {
  Json object = Json::object();
  for (const auto& [name, value] : pairs) {
    object.set(name, value);
  }
  return object;
}

std::string_view type_name(experiment::ValueType type) {
  switch (type) {
    case experiment::ValueType::String:
      return "string";
    case experiment::ValueType::Integer:
      return "integer";
    case experiment::ValueType::Real:
      return "real";
    case experiment::ValueType::Boolean:
      return "boolean";
    case experiment::ValueType::StringList:
      return "string list";
  }
  return "";
}

std::string_view field_type_name(record::FieldType type) {
  switch (type) {
    case record::FieldType::Integer:
      return "integer";
    case record::FieldType::Real:
      return "real";
    case record::FieldType::Text:
      return "text";
    case record::FieldType::Boolean:
      return "boolean";
  }
  return "";
}

std::string_view better_name(record::Better better) {
  switch (better) {
    case record::Better::Higher:
      return "higher";
    case record::Better::Lower:
      return "lower";
    case record::Better::Neither:
      return "";
  }
  return "";
}

int list_experiments(const Invocation& invocation, Console& console) {
  if (invocation.json()) {
    Json rows = Json::array();
    for (const experiment::Experiment& one : experiment::experiments()) {
      Json measured = Json::array();
      for (const std::string& name : one.measured) {
        measured.push_back(name);
      }
      rows.push_back(Json::object({{"id", one.id},
                                   {"description", one.description},
                                   {"method", one.method},
                                   {"purpose", one.purpose},
                                   {"weights_format", one.weights_format},
                                   {"runnable", one.runnable},
                                   {"fixed", pairs_json(one.fixed)},
                                   {"defaults", pairs_json(one.defaults)},
                                   {"measured", std::move(measured)}}));
    }
    write_result(console, json_text(rows));
    return kOk;
  }
  TextTable table;
  for (const char* title : {"experiment", "method", "purpose", "runs here", "description"}) {
    table.add_column(title);
  }
  for (const experiment::Experiment& one : experiment::experiments()) {
    table.add_row({one.id, one.method, one.purpose, one.runnable ? "yes" : "no", one.description});
  }
  write_result(console, table.text());
  return kOk;
}

int list_inputs(const Invocation& invocation, Console& console) {
  if (invocation.json()) {
    Json rows = Json::array();
    for (const experiment::Property& property : experiment::properties()) {
      rows.push_back(Json::object({{"name", property.name},
                                   {"short_options", property.short_options},
                                   {"type", type_name(property.type)},
                                   {"required", property.required},
                                   {"default", property.default_value},
                                   {"unit", property.unit},
                                   {"domain", property.domain.text()},
                                   {"read_by_native", property.native},
                                   {"help", property.help}}));
    }
    write_result(console, json_text(rows));
    return kOk;
  }
  TextTable table;
  for (const char* title : {"input", "default", "unit", "domain", "meaning"}) {
    table.add_column(title);
  }
  for (const experiment::Property& property : experiment::properties()) {
    const Json& value = property.default_value;
    const std::string text = property.required   ? "(required)"
                             : value.is_string() ? value.as_string()
                                                 : value.dump();
    table.add_row(
        {property.name, text, property.unit, short_domain(property, 6),
         property.native ? property.help : property.help + " (trainer native: only the default)"});
  }
  write_result(console, table.text());
  return kOk;
}

int list_metrics(const Invocation& invocation, Console& console) {
  Json rows = Json::array();
  TextTable table;
  for (const char* title : {"metric", "unit", "better", "meaning"}) {
    table.add_column(title);
  }
  for (const record::Field& field : record::fields()) {
    const std::string_view better = better_name(field.better);
    table.add_row({field.name, field.unit, std::string(better), field.meaning});
    rows.push_back(Json::object({{"name", field.name},
                                 {"type", field_type_name(field.type)},
                                 {"unit", field.unit},
                                 {"better", better.empty() ? Json() : Json(better)},
                                 {"meaning", field.meaning}}));
  }
  write_result(console, invocation.json() ? json_text(rows) : table.text());
  return kOk;
}

bool is_preset(const std::string& name) {
  const std::vector<model::Preset>& presets = model::presets();
  return std::any_of(presets.begin(), presets.end(),
                     [&](const model::Preset& preset) { return preset.name == name; });
}

int list_models(const Invocation& invocation, Console& console) {
  Json rows = Json::array();
  TextTable table;
  table.add_column("model");
  table.add_column("kind");
  table.add_column("parameters", TextTable::Align::Right);
  table.add_column("met by a token", TextTable::Align::Right);
  table.add_column("longest", TextTable::Align::Right);
  table.add_column("description");
  for (const model::Preset& preset : model::presets()) {
    const std::int64_t parameters = model::parameter_count(preset.spec);
    const std::int64_t active = model::active_parameter_count(preset.spec);
    table.add_row({preset.name, "preset", with_thousands(parameters), with_thousands(active),
                   with_thousands(model::longest_sequence(preset.spec)), preset.description});
    rows.push_back(Json::object({{"name", preset.name},
                                 {"kind", "preset"},
                                 {"parameters", parameters},
                                 {"active_parameters", active},
                                 {"max_positions", model::longest_sequence(preset.spec)},
                                 {"description", preset.description}}));
  }
  for (const model::KnownModel& known : model::known_models()) {
    if (is_preset(known.name)) {
      continue;
    }
    table.add_row({known.name, "name", "", "", "", known.reason});
    rows.push_back(Json::object({{"name", known.name},
                                 {"kind", "name"},
                                 {"parameters", nullptr},
                                 {"active_parameters", nullptr},
                                 {"max_positions", nullptr},
                                 {"description", known.reason}}));
  }
  write_result(console, invocation.json() ? json_text(rows)
                                          : table.text() +
                                                "any folder with config.json, *.safetensors and "
                                                "tokenizer.json is a model too; from a GGUF file: "
                                                "tunebench models import FILE.gguf DIR\n");
  return kOk;
}

int list_datasets(const Invocation& invocation, Console& console) {
  Json rows = Json::array();
  TextTable table;
  table.add_column("dataset");
  table.add_column("entries", TextTable::Align::Right);
  table.add_column("tokens of an entry", TextTable::Align::Right);
  table.add_column("characters of an entry", TextTable::Align::Right);
  const auto at_least = [](std::int64_t count) {
    return count > 0 ? "at least " + with_thousands(count) : std::string();
  };
  for (const data::SyntheticSpec& spec : data::synthetic_datasets()) {
    table.add_row({spec.id, with_thousands(spec.entries), at_least(spec.min_tokens),
                   at_least(spec.min_chars)});
    rows.push_back(Json::object({{"id", spec.id},
                                 {"entries", spec.entries},
                                 {"min_tokens", spec.min_tokens},
                                 {"min_chars", spec.min_chars},
                                 {"seed", static_cast<std::int64_t>(spec.seed)}}));
  }
  write_result(console, invocation.json() ? json_text(rows)
                                          : table.text() +
                                                "made as they are read; any JSON lines file with a "
                                                "field 'output' is a dataset too\n");
  return kOk;
}

Command list_command(std::string name, std::string summary,
                     int (*handler)(const Invocation&, Console&)) {
  return {{.name = name,
           .summary = std::move(summary),
           .options = {json_option()},
           .examples = {"tunebench " + name, "tunebench " + name + " --json"}},
          handler};
}

}  // namespace

std::string short_domain(const experiment::Property& property, std::size_t most) {
  const std::vector<Json>& values = property.domain.values;
  if (values.size() <= most) {
    return property.domain.text();
  }
  constexpr std::size_t kShown = 4;
  std::string text;
  for (std::size_t i = 0; i < kShown; ++i) {
    text += (values[i].is_string() ? values[i].as_string() : values[i].dump()) + ", ";
  }
  return fmt::format("{}... {} more{}", text, values.size() - kShown,
                     property.domain.open ? " or another" : "");
}

Command experiments_command() {
  return list_command("experiments", "list the experiments", list_experiments);
}
Command inputs_command() {
  return list_command("inputs", "list the inputs of experiments: defaults, units, domains",
                      list_inputs);
}
Command metrics_command() {
  return list_command("metrics", "list what is measured: units and formulas", list_metrics);
}
Command models_command() {
  return list_command("models", "list the built-in models and the known names", list_models);
}
Command datasets_command() {
  return list_command("datasets", "list the synthetic datasets", list_datasets);
}

}  // namespace tunebench::cli
