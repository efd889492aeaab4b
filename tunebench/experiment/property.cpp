#include "tunebench/experiment/property.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::experiment {
namespace {

/// Lists longer than this are not spelled out when a nearest word is known.
constexpr std::size_t kShortList = 12;

std::string value_text(const Json& value) {
  return value.is_string() ? value.as_string() : value.dump();
}

std::string quoted(const Json& value) {
  return value.is_string() ? "'" + printable(value.as_string()) + "'" : value.dump();
}

std::string number_text(double value) {
  return shortest(value);
}

/// The largest allowed number; without an upper end there is none.
std::optional<double> largest(const Domain& domain) {
  if (!domain.upper) {
    return std::nullopt;
  }
  if (domain.interval && domain.lower) {
    const double steps = std::ceil((*domain.upper - *domain.lower) / *domain.interval) - 1.0;
    return *domain.lower + steps * *domain.interval;
  }
  return std::nextafter(*domain.upper, -std::numeric_limits<double>::infinity());
}

bool is_whole(double value) {
  return std::floor(value) == value;
}

/// Distance of the allowed numbers of a property: 0 when any number is allowed.
double grid(const Property& property) {
  if (property.domain.interval) {
    return *property.domain.interval;
  }
  return property.type == ValueType::Integer ? 1.0 : 0.0;
}

/// The allowed numbers next to `value`, at most two.
std::vector<double> nearest_numbers(const Property& property, double value) {
  const double lowest = property.domain.lower.value_or(-std::numeric_limits<double>::infinity());
  const double highest = largest(property.domain).value_or(std::numeric_limits<double>::infinity());
  if (!(value > lowest)) {
    return {lowest};
  }
  if (value >= highest) {
    return {highest};
  }
  const double step = grid(property);
  if (step == 0.0) {
    return {value};
  }
  const double base = std::isfinite(lowest) ? lowest : 0.0;
  const double below = base + std::floor((value - base) / step) * step;
  return below == value ? std::vector<double>{value} : std::vector<double>{below, below + step};
}

std::string nearest_hint(const Property& property, double value) {
  if (std::isnan(value)) {
    return "";
  }
  std::vector<std::string> texts;
  for (const double number : nearest_numbers(property, value)) {
    if (std::isfinite(number)) {
      texts.push_back(number_text(number));
    }
  }
  return texts.empty() ? "" : "nearest: " + join(texts, ", ");
}

std::string_view type_text(ValueType type) {
  switch (type) {
    case ValueType::String:
      return "a text";
    case ValueType::Integer:
      return "a whole number";
    case ValueType::Real:
      return "a number";
    case ValueType::Boolean:
      return "true or false";
    case ValueType::StringList:
      return "a list of texts";
  }
  return "";
}

void report(Diagnostics& problems, std::string_view where, std::string text,
            std::string hint = "") {
  problems.push_back({std::string(where), std::move(text), std::move(hint)});
}

void report_type(const Property& property, const std::string& shown, std::string_view where,
                 Diagnostics& problems) {
  std::string text =
      fmt::format("{} is {} but must be {}", property.name, shown, type_text(property.type));
  if (property.type == ValueType::Integer || property.type == ValueType::Real) {
    text += ", " + property.domain.text();
  }
  report(problems, where, std::move(text));
}

bool contains(const std::vector<Json>& values, const Json& value) {
  return std::ranges::find(values, value) != values.end();
}

std::optional<Json> check_number(const Property& property, const Json& value,
                                 std::string_view where, Diagnostics& problems) {
  if (!value.is_number()) {
    report_type(property, quoted(value), where, problems);
    return std::nullopt;
  }
  const double number = value.as_double();
  const Domain& domain = property.domain;
  const bool inside = std::isfinite(number) && (!domain.lower || number >= *domain.lower) &&
                      (!domain.upper || number < *domain.upper);
  const double step = grid(property);
  const bool on_grid = step == 0.0 || is_whole((number - domain.lower.value_or(0.0)) / step);
  if (!inside || !on_grid) {
    const bool fraction = inside && step == 1.0;
    report(problems, where,
           fmt::format("{} is {} but must be {}{}", property.name, number_text(number),
                       fraction ? "a whole number, " : "", domain.text()),
           nearest_hint(property, number));
    return std::nullopt;
  }
  if (property.type == ValueType::Real) {
    return Json(number);
  }
  if (!value.is_int() && std::abs(number) >= 0x1p63) {
    report(problems, where,
           fmt::format("{} is {}, which is too large", property.name, number_text(number)));
    return std::nullopt;
  }
  return Json(value.as_int());
}

void report_not_listed(const Property& property, const Json& value, std::string_view where,
                       Diagnostics& problems) {
  std::vector<std::string> words;
  for (const Json& allowed : property.domain.values) {
    words.push_back(value_text(allowed));
  }
  std::string hint = value.is_string() ? did_you_mean(value.as_string(), words) : "";
  const bool spelled_out = hint.empty() || words.size() <= kShortList;
  const std::string allowed =
      spelled_out ? join(words, ", ") : fmt::format("{} values", words.size());
  report(problems, where,
         fmt::format("{} is {} but must be {}{}", property.name, quoted(value),
                     words.size() > 1 ? "one of " : "", allowed),
         std::move(hint));
}

std::optional<Json> check_open_text(const Property& property, const Json& value,
                                    std::string_view where, Diagnostics& problems) {
  if (!value.is_string()) {
    report_type(property, quoted(value), where, problems);
    return std::nullopt;
  }
  if (value.as_string().empty()) {
    report(problems, where, property.name + " is an empty text", "leave it out");
    return std::nullopt;
  }
  if (!is_valid_utf8(value.as_string())) {
    report(problems, where,
           fmt::format("{} is {}, which is not UTF-8", property.name, quoted(value)));
    return std::nullopt;
  }
  return value;
}

bool has_leading_zero(std::string_view text) {
  if (!text.empty() && text.front() == '-') {
    text.remove_prefix(1);
  }
  return text.size() > 1 && text[0] == '0' && text[1] >= '0' && text[1] <= '9';
}

std::optional<Json> read_number(std::string_view text) {
  if (has_leading_zero(text)) {
    return std::nullopt;
  }
  if (const std::optional<std::int64_t> whole = parse_int(text)) {
    return Json(*whole);
  }
  if (const std::optional<double> number = parse_real(text)) {
    return Json(*number);
  }
  return std::nullopt;
}

std::optional<Json> read_boolean(std::string_view text) {
  const std::string word = lower_ascii(text);
  if (word == "true" || word == "yes" || word == "on" || word == "1") {
    return Json(true);
  }
  if (word == "false" || word == "no" || word == "off" || word == "0") {
    return Json(false);
  }
  return std::nullopt;
}

bool is_null_word(std::string_view text) {
  const std::string word = lower_ascii(text);
  return word == "null" || word == "none";
}

}  // namespace

std::string Domain::text() const {
  if (!values.empty()) {
    std::vector<std::string> words;
    for (const Json& value : values) {
      words.push_back(value_text(value));
    }
    return join(words, ", ") + (open ? ", or any other text" : "");
  }
  const std::optional<double> highest = largest(*this);
  if (lower && highest) {
    return number_text(*lower) + " … " + number_text(*highest);
  }
  if (lower) {
    return number_text(*lower) + " or more";
  }
  return highest ? number_text(*highest) + " or less" : "any";
}

std::optional<Json> check_value(const Property& property, const Json& value, std::string_view where,
                                Diagnostics& problems) {
  if (property.type == ValueType::Integer || property.type == ValueType::Real) {
    return check_number(property, value, where, problems);
  }
  if (contains(property.domain.values, value)) {
    return value;
  }
  if (property.type == ValueType::Boolean) {
    report_type(property, quoted(value), where, problems);
    return std::nullopt;
  }
  if (property.domain.open) {
    return check_open_text(property, value, where, problems);
  }
  report_not_listed(property, value, where, problems);
  return std::nullopt;
}

std::optional<Json> parse_value(const Property& property, std::string_view text,
                                std::string_view where, Diagnostics& problems) {
  const auto wrong_type = [&]() -> std::optional<Json> {
    report_type(property, quoted(Json(text)), where, problems);
    return std::nullopt;
  };
  std::optional<Json> value;
  switch (property.type) {
    case ValueType::Integer:
    case ValueType::Real:
      value = read_number(text);
      break;
    case ValueType::Boolean:
      value = read_boolean(text);
      break;
    case ValueType::String:
      value = Json(text);
      break;
    case ValueType::StringList:
      try {
        value = Json::parse(text, where);
      } catch (const Error&) {
        value = std::nullopt;
      }
      break;
  }
  if (is_null_word(text) && contains(property.domain.values, Json()) &&
      !contains(property.domain.values, Json(text))) {
    return Json();
  }
  return value ? check_value(property, *value, where, problems) : wrong_type();
}

}  // namespace tunebench::experiment
