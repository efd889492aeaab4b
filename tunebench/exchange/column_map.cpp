#include "tunebench/exchange/column_map.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/exchange/internal/targets.h"
#include "tunebench/experiment/property.h"

namespace tunebench::exchange {
namespace {

constexpr std::array<std::string_view, 7> kOtherTargets{
    "status", "reason", "started_at", "repeat", "attempt", "experiment", "is_valid"};

std::vector<std::string> names_of_targets(bool metrics_only) {
  std::vector<std::string> names;
  if (!metrics_only) {
    for (const experiment::Property& property : experiment::properties()) {
      names.push_back(property.name);
    }
    names.insert(names.end(), kOtherTargets.begin(), kOtherTargets.end());
  }
  for (const record::Field& field : record::fields()) {
    names.push_back(field.name);
  }
  return names;
}

/// The two sides of "a=b".
std::optional<std::pair<std::string, std::string>> sides(std::string_view text,
                                                         std::string_view option,
                                                         Diagnostics& problems) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || trim(text.substr(0, equals)).empty()) {
    problems.push_back(
        {std::string(option), fmt::format("'{}' is not COLUMN=NAME", printable(text)), ""});
    return std::nullopt;
  }
  return std::pair(std::string(trim(text.substr(0, equals))),
                   std::string(trim(text.substr(equals + 1))));
}

/// Properties may be written with dashes.
std::string spelled_here(const std::string& target) {
  const experiment::Property* property = experiment::find_property(target);
  return property == nullptr ? target : property->name;
}

}  // namespace

TargetKind kind_of_target(std::string_view name) {
  if (const experiment::Property* property = experiment::find_property(name);
      property != nullptr && property->name == name) {
    return TargetKind::Input;
  }
  if (record::find_field(name) != nullptr) {
    return TargetKind::Figure;
  }
  return std::ranges::find(kOtherTargets, name) != kOtherTargets.end() ? TargetKind::Other
                                                                       : TargetKind::None;
}

const std::vector<std::string>& needed_inputs() {
  static const std::vector<std::string> kNeeded = [] {
    std::vector<std::string> names;
    for (const experiment::Property& property : experiment::properties()) {
      if (property.required || property.name == "number_gpus") {
        names.push_back(property.name);
      }
    }
    return names;
  }();
  return kNeeded;
}

const std::string* ColumnMap::find(std::string_view column) const {
  for (const auto& [name, target] : columns) {
    if (name == column) {
      return &target;
    }
  }
  return nullptr;
}

void read_columns(std::string_view text, std::string_view option, bool metrics, ColumnMap& map,
                  Diagnostics& problems) {
  for (const std::string& part : split(text, ',')) {
    const auto pair = sides(part, option, problems);
    if (!pair) {
      continue;
    }
    const auto& [column, written] = *pair;
    const std::string target = metrics ? written : spelled_here(written);
    const TargetKind kind = kind_of_target(target);
    if (!target.empty() && (kind == TargetKind::None || (metrics && kind != TargetKind::Figure))) {
      problems.push_back(
          {std::string(option),
           fmt::format("'{}' is no {}", printable(target), metrics ? "metric" : "input or metric"),
           did_you_mean(target, names_of_targets(metrics))});
      continue;
    }
    const auto twice = std::ranges::find_if(map.columns, [&](const auto& other) {
      return other.first == column || (!target.empty() && other.second == target);
    });
    if (twice != map.columns.end()) {
      problems.push_back({std::string(option),
                          fmt::format("'{}' contradicts '{}={}'", printable(part),
                                      printable(twice->first), twice->second),
                          ""});
      continue;
    }
    map.columns.emplace_back(column, target);
  }
}

void read_constant(std::string_view text, std::string_view option, ColumnMap& map,
                   Diagnostics& problems) {
  const std::size_t equals = text.find('=');
  const std::string name(trim(text.substr(0, equals)));
  const experiment::Property* property = experiment::find_property(name);
  if (equals == std::string_view::npos || property == nullptr) {
    std::vector<std::string> names;
    for (const experiment::Property& known : experiment::properties()) {
      names.push_back(known.name);
    }
    problems.push_back({std::string(option),
                        fmt::format("'{}' is not INPUT=VALUE", printable(text)),
                        did_you_mean(name, names)});
    return;
  }
  const std::string value(trim(text.substr(equals + 1)));
  if (experiment::parse_value(*property, value, option, problems)) {
    map.constants.emplace_back(property->name, value);
  }
}

}  // namespace tunebench::exchange
