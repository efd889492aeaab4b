#include "tunebench/plans/internal/plan_sections.h"

#include <algorithm>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"
#include "tunebench/record/record.h"

namespace tunebench::plans {
namespace {

using config::MappingReader;
using config::YamlNode;

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const SearchMethod& method : search_methods()) {
    names.push_back(method.name);
  }
  return names;
}

void check_input_names(MappingReader& reader, const std::vector<const YamlNode*>& items) {
  for (const YamlNode* item : items) {
    if (experiment::find_property(item->text) == nullptr) {
      reader.wrong(*item, fmt::format("unknown input '{}'", excerpt(item->text)),
                   did_you_mean(item->text, experiment::property_names()));
    }
  }
}

/// The value of a parameter, checked; null when it is not given or wrong.
Json read_parameter(const SearchParameter& parameter, MappingReader& reader) {
  const std::string& name = parameter.name;
  if (parameter.type == "integer") {
    const std::optional<std::int64_t> value = reader.integer(name, parameter.lowest);
    return value ? Json(*value) : Json();
  }
  if (parameter.type == "boolean") {
    const std::optional<bool> value = reader.boolean(name);
    return value ? Json(*value) : Json();
  }
  if (parameter.type == "word") {
    const std::optional<std::string> value = reader.word(name, parameter.words);
    return value ? Json(*value) : Json();
  }
  const YamlNode* node = reader.take(name);
  if (node == nullptr || node->is_null()) {
    return {};
  }
  if (parameter.type == "inputs") {
    const std::vector<const YamlNode*> items = reader.texts(name);
    check_input_names(reader, items);
    Json names = Json::array();
    for (const YamlNode* item : items) {
      names.push_back(item->text);
    }
    return names;
  }
  for (const YamlNode* item : reader.list(name)) {
    if (parameter.type == "points") {
      read_inputs(reader.source(), *item, reader.problems());
    } else if (!item->value.is_number()) {
      reader.wrong_type(name, *item, "a list of numbers");
    }
  }
  return node->json();
}

void read_parameters(const SearchMethod& method, MappingReader& search, PlanDocument& document) {
  for (const SearchParameter& parameter : search_parameters()) {
    if (std::ranges::find(method.parameters, parameter.name) == method.parameters.end()) {
      continue;
    }
    Json value = read_parameter(parameter, search);
    if (!value.is_null()) {
      document.search.parameters.set(parameter.name, std::move(value));
    }
  }
}

/// "tokens_per_s", "max tokens_per_s" or "min ...": without a word, what is better is taken.
void add_objective(const YamlNode& node, std::optional<bool> maximize, MappingReader& reader,
                   PlanDocument& document) {
  std::string metric = node.text;
  config::Place place = node.place;
  for (const std::string_view word : {"max ", "min "}) {
    if (metric.starts_with(word)) {
      maximize = word == "max ";
      metric = metric.substr(word.size());
      place.column += static_cast<int>(word.size()) + (node.quoted ? 1 : 0);
    }
  }
  if (!check_metric(reader.source(), place, metric, "optimize", reader.problems())) {
    return;
  }
  const record::Better better = record::find_field(metric)->better;
  if (!maximize && better == record::Better::Neither) {
    reader.wrong(node, fmt::format("'{}' is neither better high nor low", metric),
                 fmt::format("write 'max {}' or 'min {}'", metric, metric));
    return;
  }
  document.search.objectives.push_back(
      {metric, maximize.value_or(better == record::Better::Higher)});
}

void read_optimize(MappingReader& reader, PlanDocument& document) {
  const YamlNode* optimize = reader.take("optimize");
  if (optimize == nullptr || optimize->is_null()) {
    return;
  }
  if (!optimize->is_mapping()) {
    for (const YamlNode* metric : reader.texts("optimize")) {
      add_objective(*metric, std::nullopt, reader, document);
    }
    return;
  }
  MappingReader directions(reader.source(), *optimize, "optimize", reader.problems());
  for (const char* word : {"max", "min"}) {
    for (const YamlNode* metric : directions.texts(word)) {
      add_objective(*metric, std::string_view(word) == "max", directions, document);
    }
  }
  directions.finish();
}

void positive(const YamlNode* node, std::string_view key, std::optional<double> value,
              MappingReader& reader, std::optional<double>& result) {
  if (node != nullptr && !node->is_null()) {
    if (!value || !(*value > 0)) {
      reader.wrong_type(key, *node,
                        key == "time"       ? "a time above 0: 90, 10 min, 2 h"
                        : key == "interval" ? "a percentage above 0: 1%"
                                            : "a number above 0");
    } else {
      result = value;
    }
  }
}

/// METRIC < -3%
void read_gate(const YamlNode& node, MappingReader& reader, PlanDocument& document) {
  const std::string& text = node.text;
  const std::size_t sign = text.find_first_of("<>");
  const std::string_view metric = trim(std::string_view(text).substr(0, sign));
  std::string_view limit =
      sign == std::string::npos ? std::string_view() : std::string_view(text).substr(sign + 1);
  limit.remove_prefix(limit.starts_with('=') ? 1 : 0);
  if (!share_of(trim(limit)) || !trim(limit).ends_with('%')) {
    reader.wrong(
        node, fmt::format("'fail_if' is {} but must be a metric and a change", config::shown(node)),
        "tokens_per_s < -3%");
    return;
  }
  if (check_metric(reader.source(), node.place, std::string(metric), "fail_if",
                   reader.problems())) {
    document.fail_if.push_back({text, reader.source().where(node.place)});
  }
}

}  // namespace

bool check_metric(const config::SourceText& source, config::Place place, const std::string& metric,
                  std::string_view in, Diagnostics& problems) {
  const record::Field* field = record::find_field(metric);
  if (field == nullptr) {
    std::vector<std::string> names;
    for (const record::Field& one : record::fields()) {
      names.push_back(one.name);
    }
    problems.push_back(
        source.mistake(place, fmt::format("unknown metric '{}' in '{}'", excerpt(metric), in),
                       did_you_mean(metric, names)));
    return false;
  }
  if (field->type == record::FieldType::Text || field->type == record::FieldType::Boolean) {
    problems.push_back(
        source.mistake(place, fmt::format("metric '{}' in '{}' is no number", metric, in)));
    return false;
  }
  return true;
}

std::optional<double> seconds_of(std::string_view text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"min", 60}, {"h", 3600}, {"d", 86400}, {"s", 1}};
  double scale = 1;
  for (const auto& [unit, seconds] : kUnits) {
    if (text.ends_with(unit)) {
      text = trim(text.substr(0, text.size() - unit.size()));
      scale = seconds;
      break;
    }
  }
  const std::optional<double> number = parse_real(text);
  return number ? std::optional(*number * scale) : std::nullopt;
}

std::optional<double> share_of(std::string_view text) {
  if (text.ends_with('%')) {
    text = trim(text.substr(0, text.size() - 1));
  }
  const std::optional<double> number = parse_real(text);
  return number ? std::optional(*number / 100.0) : std::nullopt;
}

void read_search(const config::YamlDocument& file, MappingReader& reader, PlanDocument& document) {
  read_optimize(reader, document);
  const YamlNode* search = reader.take("search");
  if (search == nullptr || search->is_null()) {
    return;
  }
  document.search.where = file.source->where(search->place);
  if (search->is_scalar()) {
    document.search.method = reader.word("search", method_names()).value_or("grid");
    return;
  }
  MappingReader part(*file.source, *search, "search", reader.problems());
  const YamlNode* named = part.require("method");
  const std::optional<std::string> method =
      named == nullptr ? std::nullopt : part.word("method", method_names());
  if (!method) {
    return;
  }
  document.search.method = *method;
  read_parameters(*std::ranges::find(search_methods(), *method, &SearchMethod::name), part,
                  document);
  part.finish(fmt::format("parameter of search '{}'", *method));
}

void read_stop(const config::YamlDocument& file, MappingReader& reader, PlanDocument& document) {
  const YamlNode* stop = reader.take("stop");
  if (stop == nullptr || stop->is_null()) {
    return;
  }
  MappingReader part(*file.source, *stop, "stop", reader.problems());
  document.stop.where = file.source->where(stop->place);
  document.stop.points = part.integer("points", 1);
  document.stop.no_improvement = part.integer("no_improvement", 1);
  const YamlNode* time = part.take("time");
  positive(time, "time", time == nullptr ? std::nullopt : seconds_of(time->text), part,
           document.stop.time_s);
  const YamlNode* cost = part.take("cost");
  positive(cost, "cost", cost == nullptr ? std::nullopt : parse_real(cost->text), part,
           document.stop.cost);
  const YamlNode* interval = part.take("interval");
  positive(interval, "interval", interval == nullptr ? std::nullopt : share_of(interval->text),
           part, document.stop.interval);
  part.finish();
}

void read_compare(const config::YamlDocument& file, MappingReader& reader, PlanDocument& document) {
  for (const YamlNode* gate : reader.texts("fail_if")) {
    read_gate(*gate, reader, document);
  }
  const YamlNode* compare = reader.take("compare");
  if (compare == nullptr || compare->is_null()) {
    return;
  }
  campaign::CompareRequest request{.baseline = {}, .where = file.source->where(compare->place)};
  if (compare->is_scalar()) {
    request.baseline = compare->text;
  } else {
    MappingReader part(*file.source, *compare, "compare", reader.problems());
    part.require("baseline");
    request.baseline = part.name("baseline").value_or("");
    const std::vector<const YamlNode*> by = part.texts("by");
    check_input_names(part, by);
    for (const YamlNode* name : by) {
      request.by.push_back(name->text);
    }
    part.finish();
  }
  document.compare = std::move(request);
}

}  // namespace tunebench::plans
