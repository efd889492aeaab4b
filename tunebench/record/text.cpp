// A record as one line of JSON. JSON has no word for numbers that are not finite, so they stand as
// {"$real": "nan"}; an object that itself holds only "$real" is not made by anything.
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/record/record.h"

namespace tunebench::record {
namespace {

constexpr const char* kRealTag = "$real";
/// Written into every text; a later format gets a higher one.
constexpr std::int64_t kTextFormat = 1;

Json encoded(const Json& value) {
  if (value.kind() == Json::Kind::Real && !std::isfinite(value.as_double())) {
    const double number = value.as_double();
    const char* word = "nan";
    if (!std::isnan(number)) {
      word = number > 0 ? "inf" : "-inf";
    }
    return Json::object({{kRealTag, word}});
  }
  if (value.is_array()) {
    Json array = Json::array();
    for (const Json& item : value.as_array()) {
      array.push_back(encoded(item));
    }
    return array;
  }
  if (value.is_object()) {
    Json object = Json::object();
    for (const auto& [name, member] : value.as_object()) {
      object.set(name, encoded(member));
    }
    return object;
  }
  return value;
}

Json real_of(const std::string& word) {
  if (word == "nan") {
    return Json(std::numeric_limits<double>::quiet_NaN());
  }
  if (word == "inf") {
    return Json(std::numeric_limits<double>::infinity());
  }
  if (word == "-inf") {
    return Json(-std::numeric_limits<double>::infinity());
  }
  throw Error(ErrorCode::Corrupt, fmt::format("unknown number '{}'", word));
}

Json decoded(const Json& value) {
  if (value.is_array()) {
    Json array = Json::array();
    for (const Json& item : value.as_array()) {
      array.push_back(decoded(item));
    }
    return array;
  }
  if (!value.is_object()) {
    return value;
  }
  const Json::Object& members = value.as_object();
  if (members.size() == 1 && members.front().first == kRealTag) {
    return real_of(members.front().second.as_string());
  }
  Json object = Json::object();
  for (const auto& [name, member] : members) {
    object.set(name, decoded(member));
  }
  return object;
}

Json object_of(const std::map<std::string, Json>& values) {
  Json object = Json::object();
  for (const auto& [name, value] : values) {
    object.set(name, encoded(value));
  }
  return object;
}

template <typename Map>
Map map_of(const Json& object) {
  Map values;
  for (const auto& [name, value] : object.as_object()) {
    values[name] = decoded(value);
  }
  return values;
}

std::string text_of(const Record& record, const Json& environment) {
  return Json::object({{"format", kTextFormat},
                       {"id", record.id},
                       {"run", record.run},
                       {"key", record.key},
                       {"point_key", record.point_key},
                       {"experiment", record.experiment},
                       {"inputs", object_of(record.inputs)},
                       {"repeat", record.repeat},
                       {"attempt", record.attempt},
                       {"trainer", record.trainer},
                       {"trainer_version", record.trainer_version},
                       {"status", outcome_name(record.status)},
                       {"reason", record.reason},
                       {"started_at", record.started_at},
                       {"log_path", record.log_path},
                       {"measured", object_of(record.measured)},
                       {"conditions", encoded(record.conditions)},
                       {"environment", encoded(environment)}})
      .dump();
}

/// What texts of before do not have stays as it is.
void read_later_members(const Json& document, Record& record) {
  if (const Json* point_key = document.find("point_key")) {
    record.point_key = point_key->as_string();
  }
  const Json* conditions = document.find("conditions");
  if (conditions != nullptr && !conditions->is_null()) {
    record.conditions = Json::object();
    for (const auto& [name, value] : conditions->as_object()) {
      record.conditions.set(name, value.as_string());
    }
  }
}

template <typename Body>
auto as_damage(const char* what, Body&& body) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Unsupported) {
      throw;
    }
    throw Error(ErrorCode::Corrupt, fmt::format("damaged {}: {}", what, error.message()));
  }
}

Record read(const Json& document) {
  if (const std::int64_t format = document.at("format").as_int(); format != kTextFormat) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("record format {} is not known to this program", format));
  }
  Record record;
  record.id = document.at("id").as_string();
  record.run = document.at("run").as_string();
  record.key = document.at("key").as_string();
  record.experiment = document.at("experiment").as_string();
  record.inputs = map_of<experiment::Inputs>(document.at("inputs"));
  record.repeat = document.at("repeat").as_int();
  record.attempt = document.at("attempt").as_int();
  record.trainer = document.at("trainer").as_string();
  record.trainer_version = document.at("trainer_version").as_string();
  const std::string& status = document.at("status").as_string();
  const std::optional<Outcome> outcome = find_outcome(status);
  if (!outcome) {
    throw Error(ErrorCode::Corrupt, fmt::format("unknown status '{}'", status));
  }
  record.status = *outcome;
  record.reason = document.at("reason").as_string();
  record.started_at = document.at("started_at").as_string();
  record.log_path = document.at("log_path").as_string();
  record.measured = map_of<std::map<std::string, Json>>(document.at("measured"));
  record.environment = decoded(document.at("environment"));
  read_later_members(document, record);
  return record;
}

}  // namespace

std::string to_text(const Record& record) {
  return text_of(record, record.environment);
}

std::string to_text_without_environment(const Record& record) {
  return text_of(record, Json());
}

std::string environment_text(const Json& environment) {
  return encoded(environment).dump();
}

Record from_text(std::string_view text) {
  return as_damage("record", [text] { return read(Json::parse(text, "record")); });
}

Json environment_from_text(std::string_view text) {
  return as_damage("environment", [text] { return decoded(Json::parse(text, "environment")); });
}

}  // namespace tunebench::record
