#pragma once

#include <memory>
#include <string_view>

#include "tunebench/base/json.h"
#include "tunebench/engine/methods/method.h"

// What the lines of methods() point at, each made in the file of its method.
namespace tunebench::engine {

std::unique_ptr<Method> make_lora(const Json& config, std::string_view origin);
std::unique_ptr<Method> make_prompt_tuning(const Json& config, std::string_view origin);

}  // namespace tunebench::engine
