#include "tunebench/analyze/point_names.h"

#include <algorithm>

#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"
#include "tunebench/experiment/short_name.h"

namespace tunebench::analyze {

std::vector<std::string> varying_inputs(std::span<const experiment::Inputs> points) {
  std::vector<std::string> varying;
  std::vector<std::string> required;
  for (const experiment::Property& property : experiment::properties()) {
    if (points.empty() || !points.front().contains(property.name)) {
      continue;
    }
    const Json& first = points.front().at(property.name);
    const bool differs = std::any_of(points.begin(), points.end(), [&](const auto& inputs) {
      const auto found = inputs.find(property.name);
      return found == inputs.end() || !(found->second == first);
    });
    if (differs) {
      varying.push_back(property.name);
    }
    if (property.required && !property.short_options.empty()) {
      required.push_back(property.name);
    }
  }
  return varying.empty() ? required : varying;
}

std::string input_text(const Json& value) {
  return value.is_string() ? value.as_string() : value.is_null() ? "null" : value.dump();
}

std::string point_title(const experiment::Inputs& inputs, std::span<const std::string> names) {
  std::string title;
  for (const std::string& name : names) {
    const auto found = inputs.find(name);
    if (found != inputs.end()) {
      title += (title.empty() ? "" : " ") + experiment::short_name(name) + "=" +
               input_text(found->second);
    }
  }
  return title;
}

}  // namespace tunebench::analyze
