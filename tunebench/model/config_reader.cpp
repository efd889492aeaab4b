#include "tunebench/model/config_reader.h"

#include <cmath>

#include <fmt/format.h>

#include "tunebench/base/text.h"

namespace tunebench::model {
namespace {

/// A whole number, also when written as 32.0.
std::optional<std::int64_t> whole(const Json& value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value.is_int()) {
    return value.as_int();
  }
  if (value.is_number()) {
    const double real = value.as_double();
    if (std::abs(real) <= kExact && std::trunc(real) == real) {
      return static_cast<std::int64_t>(real);
    }
  }
  return std::nullopt;
}

}  // namespace

std::string shown(const Json& value) {
  constexpr std::size_t kMost = 60;
  return excerpt(value.dump(), kMost);
}

ConfigReader::ConfigReader(const Json& config, std::string_view origin)
    : config_(config), origin_(origin) {
  if (!config.is_object()) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: is {}, expected an object", origin_, config.kind_name()));
  }
}

Error ConfigReader::invalid(std::string_view key, std::string_view expected) const {
  const Json* found = config_.find(key);
  if (found == nullptr) {
    return {ErrorCode::InvalidInput,
            fmt::format("{}: {} is missing, expected {}", origin_, key, expected)};
  }
  return {ErrorCode::InvalidInput,
          fmt::format("{}: {} is {}, expected {}", origin_, key, shown(*found), expected)};
}

Error ConfigReader::unsupported(std::string_view key, std::string_view why) const {
  const Json* found = config_.find(key);
  return {ErrorCode::Unsupported, fmt::format("{}: {} is {}, {}", origin_, excerpt(key),
                                              found == nullptr ? "missing" : shown(*found), why)};
}

const Json* ConfigReader::value(std::string_view key) {
  read_.emplace(key);
  const Json* found = config_.find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

bool ConfigReader::stated(std::string_view key) const {
  const Json* found = config_.find(key);
  return found != nullptr && !found->is_null();
}

bool ConfigReader::has_key(std::string_view key) const {
  return config_.find(key) != nullptr;
}

std::string_view ConfigReader::either(std::string_view first, std::string_view second) {
  const Json* one = value(first);
  const Json* other = second.empty() ? nullptr : value(second);
  if (one != nullptr && other != nullptr && !(*one == *other)) {
    throw unsupported(second, fmt::format("and {} says something else; keep one", first));
  }
  return one == nullptr && other != nullptr ? second : first;
}

std::int64_t ConfigReader::size(std::string_view key, std::int64_t largest) {
  const Json* found = value(key);
  const std::optional<std::int64_t> number = found ? whole(*found) : std::nullopt;
  if (!number || *number < 1 || *number > largest) {
    throw invalid(key, fmt::format("an integer from 1 to {}", largest));
  }
  return *number;
}

std::int64_t ConfigReader::size_or(std::string_view key, std::int64_t fallback,
                                   std::int64_t largest) {
  return value(key) == nullptr ? fallback : size(key, largest);
}

bool ConfigReader::boolean_or(std::string_view key, bool fallback) {
  const Json* found = value(key);
  if (found == nullptr) {
    return fallback;
  }
  if (!found->is_bool()) {
    throw invalid(key, "true or false");
  }
  return found->as_bool();
}

double ConfigReader::positive(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr || !found->is_number() || !std::isfinite(found->as_double()) ||
      found->as_double() <= 0.0) {
    throw invalid(key, "a number above 0");
  }
  return found->as_double();
}

double ConfigReader::positive_or(std::string_view key, double fallback) {
  return value(key) == nullptr ? fallback : positive(key);
}

std::optional<std::string> ConfigReader::text(std::string_view key) {
  const Json* found = value(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->is_string()) {
    throw invalid(key, "text");
  }
  return found->as_string();
}

std::vector<std::string> ConfigReader::unread() const {
  std::vector<std::string> keys;
  for (const auto& [key, ignored] : config_.as_object()) {
    if (!read_.contains(key)) {
      keys.push_back(key);
    }
  }
  return keys;
}

}  // namespace tunebench::model
