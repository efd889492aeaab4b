#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/error.h"
#include "tunebench/base/json.h"

namespace tunebench::model {

/// Reads the members of one JSON object and remembers which were asked for. A member that is null
/// counts as absent. Messages are "origin: key is value, expected ...".
/// Errors: InvalidInput from every reading member.
class ConfigReader {
 public:
  /// `config` must outlive the reader.
  ConfigReader(const Json& config, std::string_view origin);

  std::int64_t size(std::string_view key, std::int64_t largest);
  std::int64_t size_or(std::string_view key, std::int64_t fallback, std::int64_t largest);
  bool boolean_or(std::string_view key, bool fallback);
  double positive_or(std::string_view key, double fallback);
  double positive(std::string_view key);
  std::optional<std::string> text(std::string_view key);
  /// nullptr when absent or null.
  const Json* value(std::string_view key);
  /// stated: there and not null; has_key: there, perhaps null.
  [[nodiscard]] bool stated(std::string_view key) const;
  [[nodiscard]] bool has_key(std::string_view key) const;

  /// Whether somebody asked for it.
  [[nodiscard]] bool was_read(std::string_view key) const { return read_.contains(key); }
  /// The one of two names of the same thing that is stated; `first` when neither is. Errors:
  /// Unsupported when they disagree.
  std::string_view either(std::string_view first, std::string_view second);

  /// Keys that nobody asked for.
  [[nodiscard]] std::vector<std::string> unread() const;

  [[nodiscard]] const std::string& origin() const { return origin_; }
  [[nodiscard]] Error invalid(std::string_view key, std::string_view expected) const;
  [[nodiscard]] Error unsupported(std::string_view key, std::string_view why) const;

 private:
  const Json& config_;
  std::string origin_;
  std::set<std::string, std::less<>> read_;
};

/// The value for a message: one line, cut when long.
std::string shown(const Json& value);

}  // namespace tunebench::model
