#include "tunebench/engine/methods/peft_config.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::engine {
namespace {

/// What says where an adapter comes from, and changes nothing.
constexpr std::array<std::string_view, 6> kOrigins = {"base_model_name_or_path",
                                                      "inference_mode",
                                                      "peft_type",
                                                      "peft_version",
                                                      "revision",
                                                      "task_type"};

bool means_nothing(const Json& value) {
  return value.is_null() || (value.is_bool() && !value.as_bool()) ||
         (value.is_string() && value.as_string().empty()) ||
         (value.is_array() && value.as_array().empty()) ||
         (value.is_object() && value.as_object().empty());
}

}  // namespace

PeftConfig::PeftConfig(const Json& config, std::string_view origin)
    : config_(config), origin_(origin) {
  if (!config.is_object()) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: is {}, not an object", origin_, config.kind_name()));
  }
  const Json* const task = config.find("task_type");
  if (task != nullptr && task->is_string() && task->as_string() != "CAUSAL_LM") {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: task_type {} is not supported; an adapter of CAUSAL_LM is",
                            origin_, printable(task->as_string())));
  }
}

const Json& PeftConfig::value(std::string_view key) {
  static const Json kNull;
  asked_.emplace(key);
  const Json* const found = config_.find(key);
  return found == nullptr ? kNull : *found;
}

std::int64_t PeftConfig::integer(std::string_view key, std::int64_t absent, std::int64_t least,
                                 std::int64_t most) {
  const Json& found = value(key);
  if (found.is_null()) {
    return absent;
  }
  const bool whole = found.is_int() || (found.is_number() && found == Json(found.as_double()) &&
                                        std::abs(found.as_double()) < 1e15 &&
                                        found.as_double() == std::floor(found.as_double()));
  if (!whole) {
    refuse(key, "must be a whole number");
  }
  const std::int64_t number = found.as_int();
  if (number < least || number > most) {
    refuse(key, fmt::format("must be {} to {}", least, most));
  }
  return number;
}

double PeftConfig::real(std::string_view key, double absent) {
  const Json& found = value(key);
  if (found.is_null()) {
    return absent;
  }
  if (!found.is_number()) {
    refuse(key, "must be a number");
  }
  return found.as_double();
}

bool PeftConfig::boolean(std::string_view key, bool absent) {
  const Json& found = value(key);
  if (!found.is_null() && !found.is_bool()) {
    refuse(key, "must be true or false");
  }
  return found.is_null() ? absent : found.as_bool();
}

std::string PeftConfig::text(std::string_view key, std::string_view absent) {
  const Json& found = value(key);
  if (!found.is_null() && !found.is_string()) {
    refuse(key, "must be a text");
  }
  return found.is_null() ? std::string(absent) : found.as_string();
}

void PeftConfig::finish(std::span<const std::string_view> meaningless) const {
  const auto one_of = [](std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (const auto& [key, value] : config_.as_object()) {
    if (!asked_.contains(key) && !one_of(kOrigins, key) && !one_of(meaningless, key) &&
        !means_nothing(value)) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("{}: {} {} is not supported; without it the adapter would compute "
                              "something else",
                              origin_, printable(key), excerpt(value.dump())));
    }
  }
}

void PeftConfig::refuse(std::string_view key, std::string_view problem) const {
  const Json* const found = config_.find(key);
  throw Error(
      ErrorCode::InvalidInput,
      fmt::format("{}: {} is {}, {}", origin_, key,
                  found == nullptr ? std::string("left out") : excerpt(found->dump()), problem));
}

}  // namespace tunebench::engine
