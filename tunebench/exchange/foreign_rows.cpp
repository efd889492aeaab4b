#include "tunebench/exchange/internal/foreign_rows.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/text.h"
#include "tunebench/exchange/internal/targets.h"
#include "tunebench/experiment/experiment.h"

namespace tunebench::exchange {
namespace {

/// "['a', 'b']" as Python prints a list, "True" and "False": as JSON and our own words are.
std::string plain_spelling(std::string_view text) {
  if (const std::optional<Json> list = list_of(text)) {
    return list->dump();
  }
  const std::string plain(trim(text));
  return plain == "True" || plain == "False" ? lower_ascii(plain) : plain;
}

/// A whole Real for an Integer property, a number for a switch: "8.0", "1.0".
std::string for_type(experiment::ValueType type, std::string text) {
  const bool whole =
      type == experiment::ValueType::Integer || type == experiment::ValueType::Boolean;
  const std::optional<double> number = whole ? parse_real(text) : std::nullopt;
  return number && std::isfinite(*number) && *number == std::floor(*number) ? shortest(*number)
                                                                            : text;
}

std::string text_of_problems(const Diagnostics& problems) {
  std::vector<std::string> lines;
  for (const Diagnostic& problem : problems) {
    lines.push_back(problem.line());
  }
  return join(lines, "; ");
}

/// "None" is a value of some properties.
bool is_word_of(const experiment::Property& property, const Json& value) {
  return std::ranges::find(property.domain.values, value) != property.domain.values.end();
}

void read_inputs(const ForeignRow& row, record::Record& record, Diagnostics& problems) {
  for (const auto& [name, raw] : row.inputs) {
    const experiment::Property* property = experiment::find_property(name);
    TB_CHECK(property != nullptr);
    if (says_nothing(raw) && !is_word_of(*property, Json(raw))) {
      if (std::ranges::find(needed_inputs(), name) != needed_inputs().end()) {
        problems.push_back({"", name + " is empty", ""});
      } else if (!trim(raw).empty() && is_word_of(*property, Json())) {
        record.inputs[name] = Json();
      }
      continue;
    }
    const std::string text = for_type(property->type, plain_spelling(raw));
    if (const std::optional<Json> value = experiment::parse_value(*property, text, "", problems)) {
      record.inputs[name] = *value;
    }
  }
}

std::optional<Json> figure_of(const record::Field& field, const std::string& text) {
  switch (field.type) {
    case record::FieldType::Integer: {
      const std::optional<std::int64_t> whole =
          parse_int(for_type(experiment::ValueType::Integer, text));
      return whole ? std::optional(Json(*whole)) : std::nullopt;
    }
    case record::FieldType::Real: {
      const std::optional<double> number = parse_real(text);
      return number ? std::optional(Json(*number)) : std::nullopt;
    }
    case record::FieldType::Boolean: {
      const std::string word = lower_ascii(text);
      if (word == "true" || word == "1" || word == "false" || word == "0") {
        return Json(word == "true" || word == "1");
      }
      return std::nullopt;
    }
    case record::FieldType::Text:
      return Json(text);
  }
  return std::nullopt;
}

void read_figures(const ForeignRow& row, record::Record& record, Diagnostics& problems) {
  for (const auto& [name, raw] : row.figures) {
    const record::Field* field = record::find_field(name);
    TB_CHECK(field != nullptr);
    if (says_nothing(raw)) {
      continue;
    }
    const std::string text(trim(raw));
    if (std::optional<Json> value = figure_of(*field, text)) {
      record.set(name, std::move(*value));
    } else {
      problems.push_back(
          {"",
           fmt::format("{} is '{}', which is no {}", name, excerpt(text),
                       field->type == record::FieldType::Boolean ? "true or false" : "number"),
           ""});
    }
  }
}

void fill_in_defaults(record::Record& record) {
  if (const experiment::Experiment* known = experiment::find_experiment(record.experiment)) {
    for (const auto& [name, value] : known->defaults) {
      record.inputs.emplace(name, value);
    }
  }
  for (const experiment::Property& property : experiment::properties()) {
    if (property.ado && !property.required) {
      record.inputs.emplace(property.name, property.default_value);
    }
  }
}

/// What makes rows the same point; not a key that a run of ours could ask for.
std::string key_of(const record::Record& record) {
  Json inputs = Json::object();
  for (const auto& [name, value] : record.inputs) {
    inputs.set(name, value);
  }
  return "imported:" +
         sha256_hex(
             Json::object({{"experiment", record.experiment}, {"inputs", inputs}}).canonical());
}

}  // namespace

bool says_nothing(std::string_view text) {
  static constexpr std::array<std::string_view, 8> kWords{"",    "null", "none", "nan",
                                                          "n/a", "na",   "-",    "not_measured"};
  const std::string word = lower_ascii(trim(text));
  return std::ranges::find(kWords, word) != kWords.end();
}

std::optional<Json> list_of(std::string_view cell) {
  std::string text(trim(cell));
  if (!text.starts_with('[') || !text.ends_with(']')) {
    return std::nullopt;
  }
  std::ranges::replace(text, '\'', '"');
  for (const auto& [python, json] : {std::pair("nan", "null"), std::pair("None", "null"),
                                     std::pair("True", "true"), std::pair("False", "false")}) {
    for (std::size_t at = text.find(python); at != std::string::npos;
         at = text.find(python, at + 1)) {
      const bool bare =
          text[at - 1] != '"' && std::isalnum(static_cast<unsigned char>(text[at - 1])) == 0;
      if (bare) {
        text.replace(at, std::string_view(python).size(), json);
      }
    }
  }
  try {
    return Json::parse(text, "list");
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string cell_of(const Json& value) {
  if (value.is_null()) {
    return "";
  }
  return value.is_string() ? value.as_string() : value.dump();
}

void ForeignRows::reject(std::string where, std::string reason) {
  result_.rejected.push_back({std::move(where), std::move(reason)});
}

void ForeignRows::note(const std::string& text) {
  if (std::ranges::find(result_.notes, text) == result_.notes.end()) {
    result_.notes.push_back(text);
  }
}

void ForeignRows::add(const ForeignRow& row) {
  record::Record record;
  record.experiment = row.experiment;
  record.repeat = row.repeat;
  record.attempt = row.attempt;
  record.trainer = row.simulated ? "simulated" : std::string(record::kImported);
  record.trainer_version = row.source;
  record.status = row.status.value_or(record::Outcome::Ok);
  record.reason = row.reason;
  record.started_at = row.started_at;
  record.environment = row.environment;
  Diagnostics problems;
  read_inputs(row, record, problems);
  read_figures(row, record, problems);
  if (problems.empty() && record.is_valid() && record.measured.empty() && !row.may_be_bare) {
    problems.push_back({"", "it holds no figure", ""});
  }
  if (!problems.empty()) {
    reject(row.where, text_of_problems(problems));
    return;
  }
  if (row.fill_defaults) {
    fill_in_defaults(record);
  }
  record.key = key_of(record);
  record.id = row.id;
  if (record.id.empty()) {
    record::Record content = record;
    if (row.id_of_values) {
      content.started_at.clear();
      content.trainer_version.clear();
    }
    record.id = content_id(content, 0);
    const std::int64_t before = seen_[record.id]++;
    record.id = before == 0 ? record.id : content_id(content, before);
  }
  result_.records.push_back(std::move(record));
}

}  // namespace tunebench::exchange
