#include "tunebench/data/json_part.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/text.h"

namespace tunebench::data {

JsonPart::JsonPart(const Json& value, std::string_view origin, std::string place)
    : value_(&value), origin_(origin), place_(std::move(place)) {
  if (!value.is_object()) {
    fail(fmt::format("is {}, not an object", value.kind_name()));
  }
}

void JsonPart::fail(ErrorCode code, std::string_view what) const {
  throw Error(code, fmt::format("{}:{}{} {}", origin_, place_.empty() ? "" : " ", place_, what));
}

void JsonPart::wrong_kind(std::string_view key, const Json& value, std::string_view wanted) const {
  fail(fmt::format("has {} as '{}', not {}", value.kind_name(), key, wanted));
}

std::string JsonPart::type() const {
  return string("type");
}

JsonPart JsonPart::typed() const {
  return {*value_, origin_, fmt::format("{} '{}'", place_, excerpt(type()))};
}

void JsonPart::expect_only(std::initializer_list<std::string_view> keys) const {
  for (const Json::Member& entry : value_->as_object()) {
    if (std::find(keys.begin(), keys.end(), entry.first) == keys.end()) {
      fail(ErrorCode::Unsupported,
           fmt::format("has '{}', which is not understood", excerpt(entry.first)));
    }
  }
}

const Json* JsonPart::find(std::string_view key) const {
  const Json* value = value_->find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

const Json& JsonPart::member(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr) {
    fail(fmt::format("has no '{}'", key));
  }
  return *value;
}

bool JsonPart::flag(std::string_view key, bool fallback) const {
  return find(key) == nullptr ? fallback : flag(key);
}

std::string JsonPart::string(std::string_view key, std::string_view fallback) const {
  return find(key) == nullptr ? std::string(fallback) : string(key);
}

bool JsonPart::flag(std::string_view key) const {
  const Json& value = member(key);
  if (!value.is_bool()) {
    wrong_kind(key, value, "true or false");
  }
  return value.as_bool();
}

std::string JsonPart::string(std::string_view key) const {
  const Json& value = member(key);
  if (!value.is_string()) {
    wrong_kind(key, value, "a string");
  }
  return value.as_string();
}

std::int64_t JsonPart::integer(std::string_view key) const {
  const Json& value = member(key);
  if (!value.is_int()) {
    wrong_kind(key, value, "an integer");
  }
  return value.as_int();
}

const Json::Array& JsonPart::array(std::string_view key) const {
  const Json& value = member(key);
  if (!value.is_array()) {
    wrong_kind(key, value, "an array");
  }
  return value.as_array();
}

JsonPart JsonPart::part(std::string_view key) const {
  return {member(key), origin_, fmt::format("{}{}{}", place_, place_.empty() ? "" : " ", key)};
}

JsonPart JsonPart::sibling(const Json& value, std::string place) const {
  return {value, origin_, std::move(place)};
}

}  // namespace tunebench::data
