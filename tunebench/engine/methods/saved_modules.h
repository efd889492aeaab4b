#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/json.h"
#include "tunebench/engine/methods/peft_config.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::engine {

/// A setting that is a list of names of modules, or null; where `text_too`, also a text.
/// Errors: InvalidInput naming the setting.
Json module_names(PeftConfig& reader, std::string_view key, bool text_too);

/// modules_to_save: modules that are trained whole and stored with the adapter. As PEFT copies
/// them, a head that is trained apart from the embedding, or it apart from the head, is not tied.
model::ModelSpec shape_with_saved(const model::ModelSpec& spec, const Json& modules_to_save);

/// The tensors of those modules in a model of that shape.
/// Errors: InvalidInput naming a module that the model has not.
std::vector<std::string> saved_tensors(const model::ModelSpec& spec, const Json& modules_to_save);

}  // namespace tunebench::engine
