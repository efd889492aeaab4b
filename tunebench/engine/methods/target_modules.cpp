#include "tunebench/engine/methods/target_modules.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/data/pattern.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/parameter_groups.h"

namespace tunebench::engine {
namespace {

constexpr std::string_view kWeight = ".weight";

std::optional<Projection> projection_of(model::ParameterRole role) {
  switch (role) {
    case model::ParameterRole::Qkv:
      return Projection::Qkv;
    case model::ParameterRole::Output:
      return Projection::Output;
    case model::ParameterRole::GateUp:
      return Projection::GateUp;
    case model::ParameterRole::Down:
      return Projection::Down;
    default:
      return std::nullopt;
  }
}

std::string last_part(std::string_view name) {
  return std::string(name.substr(name.rfind('.') + 1));
}

/// "q_proj, k_proj, ...": what the projections are called, each once.
std::vector<std::string> short_names(const std::vector<TargetModule>& modules) {
  std::vector<std::string> names;
  for (const TargetModule& module : modules) {
    std::string name = last_part(module.name);
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

[[noreturn]] void refuse_target(const model::ModelSpec& spec, const std::string& wanted,
                                const std::vector<TargetModule>& modules) {
  const model::TensorNames& names = model::family_of(spec).names;
  for (const std::string_view whole : {names.embedding, names.positions, names.head}) {
    if (!whole.empty() && names_module(wanted, whole)) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("target_modules: '{}' is not a projection of a block and is not "
                              "adapted here; modules_to_save trains it whole",
                              printable(wanted)));
    }
  }
  const std::vector<std::string> known = short_names(modules);
  const std::string hint = did_you_mean(wanted, known);
  throw Error(
      ErrorCode::InvalidInput,
      fmt::format("target_modules: '{}' fits no projection of {}; it has {}{}", printable(wanted),
                  spec.model_type, join(known, ", "), hint.empty() ? "" : "; " + hint));
}

std::vector<TargetModule> those_named(const model::ModelSpec& spec,
                                      const std::vector<TargetModule>& modules,
                                      const std::vector<std::string>& wanted) {
  for (const std::string& name : wanted) {
    if (std::none_of(modules.begin(), modules.end(),
                     [&](const TargetModule& module) { return names_module(name, module.name); })) {
      refuse_target(spec, name, modules);
    }
  }
  std::vector<TargetModule> found;
  for (const TargetModule& module : modules) {
    if (std::any_of(wanted.begin(), wanted.end(),
                    [&](const std::string& name) { return names_module(name, module.name); })) {
      found.push_back(module);
    }
  }
  return found;
}

std::vector<TargetModule> those_that_fit(const model::ModelSpec& spec,
                                         const std::vector<TargetModule>& modules,
                                         const std::string& expression) {
  std::optional<data::Pattern> pattern;
  try {
    pattern = data::Pattern::regex("^(?:" + expression + ")$");
  } catch (const Error& error) {
    throw Error(error.code(),
                fmt::format("target_modules: '{}': {}", printable(expression), error.message()));
  }
  std::vector<TargetModule> found;
  for (const TargetModule& module : modules) {
    if (pattern->find(module.name, 0).has_value()) {
      found.push_back(module);
    }
  }
  if (found.empty()) {
    refuse_target(spec, expression, modules);
  }
  return found;
}

}  // namespace

bool names_module(std::string_view wanted, std::string_view name) {
  return name == wanted || (name.size() > wanted.size() && name.ends_with(wanted) &&
                            name[name.size() - wanted.size() - 1] == '.');
}

std::vector<TargetModule> projections_of(const model::ModelSpec& spec) {
  std::vector<TargetModule> modules;
  const std::vector<model::ParameterGroup> groups = model::parameter_groups(spec);
  for (const model::ParameterGroup& group : groups) {
    const std::optional<Projection> projection = projection_of(group.role);
    if (!projection.has_value()) {
      continue;
    }
    std::int64_t first = 0;
    for (const model::ParameterGroup::Part& part : group.parts) {
      TargetModule module{.layer = group.layer,
                          .projection = *projection,
                          .first = first,
                          .outputs = part.outputs,
                          .inputs = group.inputs};
      module.name = part.name.substr(0, part.name.size() - kWeight.size());
      const bool attention = *projection == Projection::Qkv || *projection == Projection::Output;
      module.bias = !attention                          ? spec.mlp_bias
                    : *projection == Projection::Output ? spec.output_bias
                                                        : spec.qkv_bias;
      modules.push_back(std::move(module));
      first += part.outputs;
    }
  }
  return modules;
}

std::vector<std::string> default_targets(const model::ModelSpec& spec) {
  const auto& names = model::family_of(spec).names.qkv;
  std::vector<std::string> targets = {last_part(names[0])};
  if (!names[2].empty()) {
    targets.push_back(last_part(names[2]));
  }
  return targets;
}

std::vector<TargetModule> find_targets(const model::ModelSpec& spec, const Json& target_modules) {
  const std::vector<TargetModule> modules = projections_of(spec);
  if (target_modules.is_null()) {
    return those_named(spec, modules, default_targets(spec));
  }
  if (target_modules.is_string()) {
    const std::string& text = target_modules.as_string();
    if (text == "all-linear" && spec.experts.count > 0) {
      throw Error(
          ErrorCode::Unsupported,
          fmt::format("target_modules: all-linear reaches the router of some mixtures of "
                      "experts, which is not adapted here; name the modules, for example {}",
                      join(default_targets(spec), " ")));
    }
    return text == "all-linear" ? modules : those_that_fit(spec, modules, text);
  }
  std::vector<std::string> wanted;
  for (const Json& name : target_modules.as_array()) {
    wanted.push_back(name.as_string());
  }
  if (wanted.empty()) {
    throw Error(ErrorCode::InvalidInput, "target_modules: names no module");
  }
  return those_named(spec, modules, wanted);
}

}  // namespace tunebench::engine
