#include "tunebench/search/internal/stopper_parameters.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::search {
namespace {

using Kind = ParameterRule::Kind;

constexpr double kMostWhole = 1e15;

bool is_whole(const Json& value, double least) {
  return value.is_number() && std::isfinite(value.as_double()) && value.as_double() >= least &&
         value.as_double() <= kMostWhole && value.as_double() == std::floor(value.as_double());
}
bool is_finite(const Json& value) {
  return value.is_number() && std::isfinite(value.as_double());
}

}  // namespace

Parameters::Parameters(const StopConfig& config, const std::vector<ParameterRule>& rules,
                       const StopContext& context, Diagnostics& problems)
    : stopper_(config.name), context_(context), problems_(problems) {
  take_all(config, rules);
  for (const ParameterRule& rule : rules) {
    if (values_.contains(rule.name)) {
      continue;
    }
    if (rule.required) {
      complain(fmt::format("needs {}", rule.name));
    }
    values_[rule.name] = rule.fallback;
  }
}

void Parameters::take_all(const StopConfig& config, const std::vector<ParameterRule>& rules) {
  if (config.positional.size() > rules.size()) {
    complain(fmt::format("takes {} parameters, not {}", rules.size(), config.positional.size()));
  }
  for (std::size_t i = 0; i < std::min(rules.size(), config.positional.size()); ++i) {
    take(rules[i], config.positional[i]);
  }
  if (!config.keywords.is_object()) {
    complain(fmt::format("takes named parameters, not {}", config.keywords.kind_name()));
    return;
  }
  std::vector<std::string> names;
  for (const ParameterRule& rule : rules) {
    names.push_back(rule.name);
  }
  for (const auto& [name, value] : config.keywords.as_object()) {
    const auto rule = std::ranges::find(rules, name, &ParameterRule::name);
    if (rule == rules.end()) {
      complain(fmt::format("has no parameter '{}'", printable(name)), did_you_mean(name, names));
    } else if (values_.contains(name)) {
      complain(fmt::format("is given {} twice", name));
    } else {
      take(*rule, value);
    }
  }
}

void Parameters::complain(const std::string& text, const std::string& hint) {
  problems_.push_back({{}, stopper_ + " " + text, hint});
  good_ = false;
}

void Parameters::take(const ParameterRule& rule, const Json& value) {
  values_[rule.name] = value;
  const std::string wanted = fault(rule, value);
  if (wanted.empty()) {
    return;
  }
  const std::string hint = rule.kind == Kind::Metric && value.is_string()
                               ? did_you_mean(value.as_string(), context_.metrics)
                               : std::string();
  complain(fmt::format("wants {} to be {}, not {}", rule.name, wanted, excerpt(value.dump())),
           hint);
}

/// What the value should have been; empty when it is right.
std::string Parameters::fault(const ParameterRule& rule, const Json& value) const {
  const auto unless = [](bool right, const char* wanted) {
    return right ? std::string() : std::string(wanted);
  };
  switch (rule.kind) {
    case Kind::Positive:
      return unless(is_finite(value) && value.as_double() > 0, "a number above 0");
    case Kind::NotNegative:
      return unless(is_finite(value) && value.as_double() >= 0, "a number from 0");
    case Kind::Count:
      return unless(is_whole(value, 1), "a whole number from 1");
    case Kind::WholeFromZero:
      return unless(is_whole(value, 0), "a whole number from 0");
    case Kind::Probability:
      return unless(is_finite(value) && value.as_double() > 0 && value.as_double() < 1,
                    "between 0 and 1");
    case Kind::Flag:
      return unless(value.is_bool(), "true or false");
    case Kind::Mode:
      return unless(value == Json("min") || value == Json("max"), "min or max");
    case Kind::Metric:
      return unless(value.is_string() && std::ranges::find(context_.metrics, value.as_string()) !=
                                             context_.metrics.end(),
                    "a metric of the search");
    case Kind::Ignored:
      break;
  }
  return {};
}

double Parameters::number(const std::string& name) const {
  return values_.at(name).as_double();
}
std::int64_t Parameters::count(const std::string& name) const {
  return values_.at(name).as_int();
}
bool Parameters::flag(const std::string& name) const {
  return values_.at(name).as_bool();
}
Direction Parameters::direction(const std::string& name) const {
  return values_.at(name) == Json("min") ? Direction::Minimize : Direction::Maximize;
}
std::size_t Parameters::metric(const std::string& name) const {
  const auto found = std::ranges::find(context_.metrics, values_.at(name).as_string());
  TB_CHECK(found != context_.metrics.end());
  return static_cast<std::size_t>(found - context_.metrics.begin());
}
std::string Parameters::text(const std::string& name) const {
  return values_.at(name).as_string();
}

}  // namespace tunebench::search
