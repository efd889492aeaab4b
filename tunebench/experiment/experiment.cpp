#include "tunebench/experiment/experiment.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/hash.h"
#include "tunebench/base/text.h"
#include "tunebench/experiment/short_name.h"

namespace tunebench::experiment {
namespace {

/// More than this is a slip of the hand. A point takes about 5 kB here and seconds to measure.
constexpr std::int64_t kMostPoints = 100'000;

void report(Diagnostics& problems, const std::string& where, std::string text,
            std::string hint = "") {
  problems.push_back({where, std::move(text), std::move(hint)});
}

std::string runnable_experiments() {
  std::vector<std::string> ids;
  for (const Experiment& experiment : experiments()) {
    if (experiment.runnable) {
      ids.push_back(experiment.id);
    }
  }
  return join(ids, ", ");
}

/// Default of a property in an experiment.
Json default_of(const Experiment* experiment, const Property& property) {
  if (experiment != nullptr) {
    for (const auto& [name, value] : experiment->defaults) {
      if (name == property.name) {
        return value;
      }
    }
  }
  return property.default_value;
}

const Json* fixed_value(const Experiment& experiment, std::string_view name) {
  for (const auto& [fixed, value] : experiment.fixed) {
    if (fixed == name) {
      return &value;
    }
  }
  return nullptr;
}

std::optional<GivenValues> check_given(const Experiment& experiment, const GivenValues& given,
                                       std::set<std::string>& seen, Diagnostics& problems) {
  const Property* property = find_property(given.property);
  if (property == nullptr) {
    report(problems, given.where, fmt::format("unknown input '{}'", printable(given.property)),
           did_you_mean(given.property, property_names()));
    return std::nullopt;
  }
  if (!seen.insert(property->name).second) {
    report(problems, given.where, property->name + " is given twice",
           "give all its values in one list");
    return std::nullopt;
  }
  if (const Json* fixed = fixed_value(experiment, property->name)) {
    report(problems, given.where,
           fmt::format("{} cannot be set: {} fixes it at {}", property->name, experiment.id,
                       fixed->dump()));
    return std::nullopt;
  }
  if (given.values.empty()) {
    report(problems, given.where, property->name + " has no value");
    return std::nullopt;
  }
  GivenValues dimension{property->name, {}, given.where};
  for (const Json& value : given.values) {
    if (std::optional<Json> checked = check_value(*property, value, given.where, problems)) {
      dimension.values.push_back(std::move(*checked));
    }
  }
  return dimension;
}

void check_missing(const std::set<std::string>& seen, Diagnostics& problems) {
  for (const Property& property : properties()) {
    if (property.required && !seen.contains(property.name)) {
      report(problems, "", property.name + " is missing",
             property.short_options.empty() ? "" : "give it with --" + short_name(property.name));
    }
  }
}

/// Number of points, or a diagnostic when it is absurd.
std::int64_t count_points(const std::vector<GivenValues>& dimensions, Diagnostics& problems) {
  double count = 1;
  for (const GivenValues& dimension : dimensions) {
    count *= static_cast<double>(dimension.values.size());
  }
  if (count <= static_cast<double>(kMostPoints)) {
    return static_cast<std::int64_t>(count);
  }
  const std::string shown =
      count < 1e15 ? with_thousands(static_cast<std::int64_t>(count)) : shortest(count);
  report(
      problems, "",
      fmt::format("these values make {} points, more than {}", shown, with_thousands(kMostPoints)),
      "give fewer values");
  return 0;
}

Inputs default_inputs(const Experiment& experiment) {
  Inputs inputs;
  for (const Property& property : properties()) {
    const Json* fixed = fixed_value(experiment, property.name);
    inputs[property.name] = fixed != nullptr ? *fixed : default_of(&experiment, property);
  }
  return inputs;
}

/// Defaults filled in, those of the table first.
Json all_inputs(const Point& point) {
  const Experiment* experiment = find_experiment(point.experiment);
  Json inputs = Json::object();
  for (const Property& property : properties()) {
    const auto given = point.inputs.find(property.name);
    const Json usual = default_of(experiment, property);
    const Json& value = given != point.inputs.end() ? given->second : usual;
    if (!property.later || value != usual) {
      inputs.set(property.name, value);
    }
  }
  for (const auto& [name, value] : point.inputs) {
    if (find_property(name) == nullptr) {
      inputs.set(name, value);
    }
  }
  return inputs;
}

}  // namespace

const Json& Point::input(std::string_view name) const {
  const auto found = inputs.find(std::string(name));
  if (found == inputs.end()) {
    throw Error(ErrorCode::Internal, fmt::format("the point has no input '{}'", name));
  }
  return found->second;
}

const std::vector<std::string>& property_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const Property& property : properties()) {
      names.push_back(property.name);
    }
    return names;
  }();
  return kNames;
}

std::optional<Grid> make_grid(const Experiment& experiment, const std::vector<GivenValues>& given,
                              Diagnostics& problems) {
  const std::size_t before = problems.size();
  if (!experiment.runnable) {
    report(problems, "", fmt::format("{} cannot be run by this version", experiment.id),
           fmt::format("it runs {}", runnable_experiments()));
  }
  Grid grid;
  std::set<std::string> seen;
  for (const GivenValues& one : given) {
    if (std::optional<GivenValues> dimension = check_given(experiment, one, seen, problems)) {
      grid.dimensions.push_back(std::move(*dimension));
    }
  }
  check_missing(seen, problems);
  if (problems.size() > before) {
    return std::nullopt;
  }
  grid.base = default_inputs(experiment);
  return grid;
}

std::vector<Point> expand(const Experiment& experiment, const std::vector<GivenValues>& given,
                          Diagnostics& problems) {
  const std::optional<Grid> grid = make_grid(experiment, given, problems);
  const std::int64_t count = grid ? count_points(grid->dimensions, problems) : 0;
  std::vector<Point> points;
  points.reserve(static_cast<std::size_t>(count));
  for (std::int64_t number = 0; number < count; ++number) {
    Point point{experiment.id, grid->base};
    // The number of a point, read with the last dimension as its lowest digit.
    std::int64_t rest = number;
    for (auto dimension = grid->dimensions.rbegin(); dimension != grid->dimensions.rend();
         ++dimension) {
      const auto size = static_cast<std::int64_t>(dimension->values.size());
      point.inputs[dimension->property] = dimension->values[static_cast<std::size_t>(rest % size)];
      rest /= size;
    }
    points.push_back(std::move(point));
  }
  return points;
}

std::string reuse_key(const Point& point, const KeyParts& parts) {
  Json key = Json::object({{"experiment", point.experiment},
                           {"inputs", all_inputs(point)},
                           {"metric_schema", parts.metric_schema},
                           {"trainer", parts.trainer},
                           {"trainer_version", parts.trainer_version},
                           {"hardware_class", parts.hardware_class},
                           {"model_fingerprint", parts.model_fingerprint},
                           {"dataset_fingerprint", parts.dataset_fingerprint}});
  // What only GPUs have stands only in their keys.
  for (const auto& [name, value] :
       {std::pair("driver", &parts.driver), {"cuda", &parts.cuda}, {"mig", &parts.mig}}) {
    if (!value->empty()) {
      key.set(name, *value);
    }
  }
  return sha256_hex(key.canonical());
}

std::string point_key(const Point& point, const KeyParts& parts) {
  return sha256_hex(Json::object({{"experiment", point.experiment},
                                  {"inputs", all_inputs(point)},
                                  {"model_fingerprint", parts.model_fingerprint},
                                  {"dataset_fingerprint", parts.dataset_fingerprint}})
                        .canonical());
}

}  // namespace tunebench::experiment
