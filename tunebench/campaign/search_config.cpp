#include "tunebench/campaign/internal/search_config.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/text.h"

namespace tunebench::campaign {
namespace {

using search::Method;

constexpr std::array<std::pair<std::string_view, Method>, 9> kMethods{
    {{"grid", Method::Grid},
     {"random", Method::Random},
     {"grouped", Method::Grouped},
     {"random_grouped", Method::RandomGrouped},
     {"lhs", Method::LatinHypercube},
     {"sobol", Method::Sobol},
     {"tpe", Method::Tpe},
     {"gp", Method::GaussianProcess},
     {"halving", Method::SuccessiveHalving}}};

std::int64_t integer_of(const Json& parameters, std::string_view name, std::int64_t otherwise) {
  const Json* value = parameters.find(name);
  return value == nullptr ? otherwise : value->as_int();
}

std::vector<std::string> texts_of(const Json& parameters, std::string_view name) {
  std::vector<std::string> texts;
  if (const Json* list = parameters.find(name)) {
    for (const Json& one : list->as_array()) {
      texts.push_back(one.as_string());
    }
  }
  return texts;
}

/// {"batch_size": 4, ...} as a point; nullopt and a mistake when a dimension has no such value.
std::optional<search::Point> point_of(const Json& values, const search::FiniteSpace& space,
                                      const std::string& where, Diagnostics& problems) {
  std::vector<std::size_t> at;
  for (const search::Dimension& dimension : space.dimensions()) {
    const Json* value = values.find(dimension.name);
    const auto found =
        value == nullptr ? dimension.values.end() : std::ranges::find(dimension.values, *value);
    if (found == dimension.values.end()) {
      problems.push_back(
          {where,
           fmt::format("a point of 'first' {} of {}",
                       value == nullptr ? "has no value" : "has a value", dimension.name) +
               (value == nullptr ? "" : " that the plan does not have"),
           ""});
      return std::nullopt;
    }
    at.push_back(static_cast<std::size_t>(found - dimension.values.begin()));
  }
  return space.point(at);
}

}  // namespace

std::uint64_t search_seed(const SearchRequest& request) {
  return static_cast<std::uint64_t>(integer_of(request.parameters, "seed", 1));
}

search::SearchConfig search_config(const Request& request, const search::FiniteSpace& space,
                                   Diagnostics& problems) {
  const SearchRequest& wanted = request.search;
  const Json& parameters = wanted.parameters;
  search::SearchConfig config;
  const auto* method =
      std::ranges::find(kMethods, wanted.method, &std::pair<std::string_view, Method>::first);
  if (method == kMethods.end()) {
    problems.push_back(
        {wanted.where, fmt::format("unknown search '{}'", printable(wanted.method)), ""});
    return config;
  }
  config.method = method->second;
  config.directions.clear();
  for (const Objective& one : wanted.objectives) {
    config.directions.push_back(one.maximize ? search::Direction::Maximize
                                             : search::Direction::Minimize);
  }
  config.grouping = texts_of(parameters, "grouping");
  config.startup = static_cast<std::size_t>(integer_of(parameters, "startup", 0));
  config.block = static_cast<std::size_t>(integer_of(parameters, "block", 0));
  const Json* extra = parameters.find("extra_repeats");
  config.extra_repeats = extra != nullptr && extra->as_bool();
  config.min_budget = integer_of(parameters, "min_steps", 0);
  config.max_budget = integer_of(parameters, "max_steps", 0);
  config.eta = integer_of(parameters, "eta", 3);
  if (const Json* first = parameters.find("first")) {
    for (const Json& values : first->as_array()) {
      if (const auto point = point_of(values, space, wanted.where, problems)) {
        config.first.push_back(*point);
      }
    }
  }
  if (const Json* reference = parameters.find("reference")) {
    for (const Json& value : reference->as_array()) {
      config.reference.push_back(value.as_double());
    }
  }
  return config;
}

search::WalkConfig walk_config(const Request& request, Diagnostics& problems) {
  const Json& parameters = request.search.parameters;
  // What is known is reused, so that walking over all points is what the reference does.
  search::WalkConfig config{.sampler = search::WalkConfig::Sampler::Generator,
                            .grouping = texts_of(parameters, "grouping"),
                            .count = std::nullopt};
  if (const Json* mode = parameters.find("mode")) {
    config.mode = search::find_walk_mode(mode->as_string()).value_or(config.mode);
  }
  const Json* filter = parameters.find("filter");
  if (filter != nullptr && filter->as_string() != "all") {
    problems.push_back({request.search.where,
                        fmt::format("filter '{}' is not done by this version", filter->as_string()),
                        "all: known points are reused, the others measured"});
  }
  return config;
}

std::vector<search::StopConfig> stop_configs(const StopRequest& stop) {
  std::vector<search::StopConfig> configs;
  const auto add = [&configs](const char* name, const char* parameter, Json value) {
    configs.push_back({.name = name, .keywords = Json::object({{parameter, std::move(value)}})});
  };
  if (stop.points) {
    add("count", "points", *stop.points);
  }
  if (stop.time_s) {
    add("time", "seconds", *stop.time_s);
  }
  if (stop.cost) {
    add("cost", "limit", *stop.cost);
  }
  if (stop.no_improvement) {
    add("no_improvement", "trials", *stop.no_improvement);
  }
  if (stop.interval) {
    add("narrow_interval", "percent", *stop.interval * 100);
  }
  for (const NamedStopper& stopper : stop.stoppers) {
    configs.push_back({.name = stopper.name, .keywords = stopper.parameters});
  }
  return configs;
}

}  // namespace tunebench::campaign
