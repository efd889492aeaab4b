#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/engine/nn/parameters.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::engine {

/// A projection as Hugging Face names it: outputs [first, first + outputs) of one of the engine's.
struct TargetModule {
  std::string name;  ///< model.layers.0.self_attn.q_proj
  std::int64_t layer = 0;
  Projection projection = Projection::Qkv;
  std::int64_t first = 0;
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;
  bool bias = false;  ///< it has one
};

/// Every projection of the blocks of this shape, in the order of model::parameter_groups.
std::vector<TargetModule> projections_of(const model::ModelSpec& spec);

/// Those that `target_modules` names, as PEFT reads it: a list of names, each of which fits a
/// module of that name or one that ends in it after a dot; "all-linear"; another text is a regular
/// expression that fits a whole name. Null: default_targets().
/// Errors: InvalidInput naming a name that fits none; Unsupported naming the head or the embedding,
/// which may be trained whole but not adapted.
std::vector<TargetModule> find_targets(const model::ModelSpec& spec, const Json& target_modules);

/// What PEFT takes for a family when nothing is said: queries and values, or the projection that
/// holds them.
std::vector<std::string> default_targets(const model::ModelSpec& spec);

/// Whether `name` is `wanted` or ends in it after a dot.
bool names_module(std::string_view wanted, std::string_view name);

}  // namespace tunebench::engine
