#include "tunebench/engine/methods/saved_modules.h"

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/engine/methods/target_modules.h"
#include "tunebench/model/model_family.h"

namespace tunebench::engine {
namespace {

std::string_view module_of(std::string_view tensor) {
  return tensor.substr(0, tensor.rfind('.'));
}

}  // namespace

Json module_names(PeftConfig& reader, std::string_view key, bool text_too) {
  const Json& names = reader.value(key);
  if (names.is_null() || (text_too && names.is_string())) {
    return names;
  }
  if (!names.is_array()) {
    reader.refuse(key, "must be a list of names of modules");
  }
  for (const Json& name : names.as_array()) {
    if (!name.is_string() || name.as_string().empty()) {
      reader.refuse(key, "must be a list of names of modules");
    }
  }
  return names;
}

model::ModelSpec shape_with_saved(const model::ModelSpec& spec, const Json& modules_to_save) {
  model::ModelSpec shape = spec;
  if (spec.tied_head && modules_to_save.is_array()) {
    const model::TensorNames& names = model::family_of(spec).names;
    for (const Json& name : modules_to_save.as_array()) {
      if (names_module(name.as_string(), names.embedding) ||
          names_module(name.as_string(), names.head)) {
        shape.tied_head = false;
      }
    }
  }
  return shape;
}

std::vector<std::string> saved_tensors(const model::ModelSpec& spec, const Json& modules_to_save) {
  std::vector<std::string> tensors;
  if (!modules_to_save.is_array()) {
    return tensors;
  }
  std::vector<bool> met(modules_to_save.as_array().size());
  for (const model::TensorShape& tensor : model::tensor_shapes(spec)) {
    bool saved = false;
    for (std::size_t i = 0; i < met.size(); ++i) {
      const std::string& wanted = modules_to_save.as_array()[i].as_string();
      if (names_module(wanted, module_of(tensor.name))) {
        met[i] = true;
        saved = true;
      }
    }
    if (saved) {
      tensors.push_back(tensor.name);
    }
  }
  for (std::size_t i = 0; i < met.size(); ++i) {
    if (!met[i]) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("modules_to_save: {} has no module '{}'", spec.model_type,
                              printable(modules_to_save.as_array()[i].as_string())));
    }
  }
  return tensors;
}

}  // namespace tunebench::engine
