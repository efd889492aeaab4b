#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "tunebench/base/json.h"

namespace tunebench::engine {

/// Reads the settings of adapter_config.json, each once, and refuses what is left over and means
/// something. A setting that is null counts as left out.
class PeftConfig {
 public:
  /// Errors: InvalidInput when `config` is no object. It must outlive this object.
  PeftConfig(const Json& config, std::string_view origin);

  /// Null when left out.
  [[nodiscard]] const Json& value(std::string_view key);
  /// Errors: InvalidInput naming the setting when it is of another kind or out of range.
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t absent, std::int64_t least,
                                     std::int64_t most);
  [[nodiscard]] double real(std::string_view key, double absent);
  [[nodiscard]] bool boolean(std::string_view key, bool absent);
  [[nodiscard]] std::string text(std::string_view key, std::string_view absent);

  /// Every setting that was not asked for must be null, false or empty, one of `meaningless`, or
  /// one of those that say where an adapter comes from.
  /// Errors: Unsupported naming the setting and its value.
  void finish(std::span<const std::string_view> meaningless) const;

  /// Errors: InvalidInput naming the setting, its value and what is wrong.
  [[noreturn]] void refuse(std::string_view key, std::string_view problem) const;

 private:
  const Json& config_;
  std::string origin_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace tunebench::engine
