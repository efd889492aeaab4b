#include "tunebench/space/domain.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "tunebench/experiment/range.h"

namespace tunebench::space {
namespace {

using enum VariableType;

constexpr std::array<std::pair<VariableType, std::string_view>, 7> kNames{{
    {Unknown, "UNKNOWN_VARIABLE_TYPE"},
    {Continuous, "CONTINUOUS_VARIABLE_TYPE"},
    {Discrete, "DISCRETE_VARIABLE_TYPE"},
    {Categorical, "CATEGORICAL_VARIABLE_TYPE"},
    {OpenCategorical, "OPEN_CATEGORICAL_VARIABLE_TYPE"},
    {Binary, "BINARY_VARIABLE_TYPE"},
    {Identifier, "IDENTIFIER_VARIABLE_TYPE"},
}};

bool is_numeric(const Json& value) {
  return value.is_number() || value.is_bool();
}

double number(const Json& value) {
  return value.is_bool() ? (value.as_bool() ? 1.0 : 0.0) : value.as_double();
}

bool all_numeric(const std::vector<Json>& values) {
  return std::ranges::all_of(values, is_numeric);
}

bool listed(const std::vector<Json>& values, const Json& value) {
  return std::ranges::any_of(values, [&](const Json& one) { return same_value(one, value); });
}

VariableType infer(const DomainText& text) {
  if (text.values) {
    return all_numeric(*text.values) ? Discrete : Categorical;
  }
  return text.interval ? Discrete : text.range ? Continuous : Unknown;
}

const Json* doubled(const std::vector<Json>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (same_value(values[i], values[k])) {
        return &values[i];
      }
    }
  }
  return nullptr;
}

std::string values_problem(const DomainText& text) {
  const std::vector<Json>& values = *text.values;
  if (values.empty()) {
    return "values is an empty list";
  }
  constexpr std::size_t kCompared = 5000;
  if (values.size() <= kCompared) {
    if (const Json* value = doubled(values)) {
      return fmt::format("values has {} twice", value->dump());
    }
  }
  if (text.interval) {
    return "interval goes with domainRange, not with values";
  }
  if (!text.range) {
    return "";
  }
  if (!all_numeric(values)) {
    return "domainRange goes with numbers, and values holds others";
  }
  for (const Json& value : values) {
    if (number(value) < text.range->first.value() || number(value) >= text.range->second.value()) {
      return fmt::format("values has {}, which is outside domainRange [{}, {})", value.dump(),
                         text.range->first.text(), text.range->second.text());
    }
  }
  return "";
}

bool is_binary(const std::vector<Json>& values) {
  return values.size() == 2 && values[0] == Json(false) && values[1] == Json(true);
}

std::string type_problem(const DomainText& text, VariableType type) {
  const std::string name(variable_type_name(type));
  if ((type == Categorical) && !text.values) {
    return name + " needs values";
  }
  if ((type == Categorical || type == OpenCategorical) &&
      (text.interval || (text.range && !text.values))) {
    return name + " takes no interval and no domainRange";
  }
  if (type == OpenCategorical && text.range) {
    return name + " takes no domainRange";
  }
  if (type == Discrete && !text.values && !text.interval) {
    return name + " needs values or an interval";
  }
  if (type == Discrete && text.values && !all_numeric(*text.values)) {
    return name + " takes numbers, and values holds others";
  }
  if (type == Continuous && (text.values || text.interval)) {
    return name + " takes neither values nor an interval";
  }
  if (type == Binary &&
      (text.interval || text.range || (text.values && !is_binary(*text.values)))) {
    return name + " takes no values but [false, true]";
  }
  if (type == Identifier && (text.interval || text.range || text.values)) {
    return name + " takes neither values nor a range";
  }
  return "";
}

Json range_json(const std::pair<Decimal, Decimal>& range) {
  return Json::array({experiment::number_of(range.first), experiment::number_of(range.second)});
}

}  // namespace

std::string_view variable_type_name(VariableType type) {
  const auto* const found =
      std::ranges::find(kNames, type, &std::pair<VariableType, std::string_view>::first);
  return found == kNames.end() ? "" : found->second;
}

std::optional<VariableType> find_variable_type(std::string_view name) {
  for (const auto& [type, known] : kNames) {
    if (known == name) {
      return type;
    }
  }
  return std::nullopt;
}

bool same_value(const Json& a, const Json& b) {
  return is_numeric(a) && is_numeric(b) ? number(a) == number(b) : a == b;
}

std::optional<Domain> Domain::make(const DomainText& text, std::string& problem) {
  const VariableType inferred = infer(text);
  const bool open = !text.type || *text.type == Unknown;
  const VariableType type = open ? inferred : *text.type;
  problem = text.values ? values_problem(text) : "";
  if (problem.empty() && text.range && compare(text.range->first, text.range->second) >= 0) {
    problem = fmt::format("domainRange [{}, {}) is empty", text.range->first.text(),
                          text.range->second.text());
  }
  if (problem.empty() && text.interval && text.interval->digits <= 0) {
    problem = "interval must be above 0";
  }
  if (problem.empty()) {
    problem = type_problem(text, type);
  }
  Domain domain;
  domain.type_ = type;
  domain.inferred_ = type == inferred;
  domain.values_ = text.values.value_or(std::vector<Json>{});
  domain.interval_ = text.interval;
  domain.range_ = text.values ? std::nullopt : text.range;
  if (problem.empty() && domain.interval_ && domain.range_) {
    const experiment::Members members = experiment::stepped_members(
        domain.range_->first, domain.range_->second, *domain.interval_, false);
    problem = members.problem.empty() ? "" : "domainRange with this interval " + members.problem;
  }
  return problem.empty() ? std::optional(domain) : std::nullopt;
}

std::vector<Json> Domain::members() const {
  if (type_ == Binary) {
    return {false, true};
  }
  if (type_ == OpenCategorical || !values_.empty()) {
    return type_ == OpenCategorical ? std::vector<Json>{} : values_;
  }
  if (type_ == Discrete && range_) {
    return experiment::stepped_members(range_->first, range_->second, *interval_, false).values;
  }
  return {};
}

std::optional<std::int64_t> Domain::size() const {
  const auto count = static_cast<std::int64_t>(members().size());
  return count == 0 ? std::nullopt : std::optional(count);
}

std::optional<bool> Domain::contains(const Json& value) const {
  switch (type_) {
    case Unknown:
    case OpenCategorical:
      return true;
    case Identifier:
      return std::nullopt;
    case Binary:
      return is_numeric(value) && (number(value) == 0 || number(value) == 1);
    case Continuous:
      return is_numeric(value) && (!range_ || (number(value) >= range_->first.value() &&
                                               number(value) < range_->second.value()));
    case Categorical:
      return listed(values_, value);
    case Discrete:
      break;
  }
  if (!values_.empty()) {
    return listed(values_, value);
  }
  if (!range_) {
    return is_numeric(value);
  }
  const std::optional<Decimal> exact = is_numeric(value) ? decimal_of(number(value)) : std::nullopt;
  if (!exact || compare(*exact, range_->first) < 0 || compare(*exact, range_->second) >= 0) {
    return false;
  }
  const std::optional<WholeSteps> steps = whole_steps(range_->first, *exact, *interval_);
  return steps && steps->exact;
}

/// Every member is within the other's range.
bool Domain::numbers_inside(const Domain& other) const {
  if (!other.range_) {
    return true;
  }
  if (type_ == Continuous) {
    return range_ && compare(range_->first, other.range_->first) >= 0 &&
           compare(range_->second, other.range_->second) <= 0;
  }
  const std::vector<Json> mine = members();
  return !mine.empty() && std::ranges::all_of(mine, [&](const Json& value) {
    return other.contains(value).value_or(false);
  });
}

bool Domain::discrete_inside(const Domain& other) const {
  if (interval_ && other.interval_) {
    const std::optional<WholeSteps> multiple = whole_steps({0, 0}, *interval_, *other.interval_);
    if (!multiple || !multiple->exact) {
      return false;
    }
  }
  if (!size()) {
    return !other.size();
  }
  return std::ranges::all_of(
      members(), [&](const Json& value) { return other.contains(value).value_or(false); });
}

bool Domain::is_inside(const Domain& other) const {
  if (*this == other || other.type_ == Unknown) {
    return true;
  }
  const bool countable = type_ == Discrete || type_ == Categorical || type_ == Binary;
  switch (other.type_) {
    case OpenCategorical:
      return countable || type_ == OpenCategorical;
    case Continuous:
      return (type_ == Continuous || type_ == Discrete) && numbers_inside(other);
    case Discrete:
      return type_ == Discrete && discrete_inside(other);
    case Categorical:
    case Binary:
      return countable && size() && discrete_inside(other);
    case Identifier:
      return type_ == Identifier;
    case Unknown:
      break;
  }
  return true;
}

Json Domain::json() const {
  Json json = Json::object();
  if (!values_.empty()) {
    json.set("values", Json(Json::Array(values_)));
  }
  if (interval_) {
    json.set("interval", experiment::number_of(*interval_));
  }
  if (range_) {
    json.set("domainRange", range_json(*range_));
  }
  if (!inferred_) {
    json.set("variableType", variable_type_name(type_));
  }
  return json;
}

bool is_member(const std::vector<DomainOf>& dimensions, const std::map<std::string, Json>& point) {
  return point.size() == dimensions.size() &&
         std::ranges::all_of(dimensions, [&](const DomainOf& dimension) {
           const auto value = point.find(dimension.name);
           return value != point.end() && dimension.domain.contains(value->second).value_or(false);
         });
}

}  // namespace tunebench::space
