#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/json.h"

namespace tunebench::experiment {

enum class ValueType { String, Integer, Real, Boolean, StringList };

/// What a property may be. Categorical when `values` is not empty, else a range.
struct Domain {
  std::vector<Json> values;        ///< allowed values (null is one where it may be unset)
  bool open = false;               ///< any other text is allowed too (a path)
  std::optional<double> lower;     ///< inclusive
  std::optional<double> upper;     ///< exclusive
  std::optional<double> interval;  ///< whole steps from lower
  /// "1 … 4096", "bfloat16, float16, float32"
  [[nodiscard]] std::string text() const;
};

/// One input of an experiment. The table is the only place that names them: options, help, JSON,
/// documents and validation are made from it.
struct Property {
  std::string name;
  ValueType type = ValueType::String;
  Domain domain;
  bool required = false;
  Json default_value;   ///< null also when the default is "unset"
  bool native = false;  ///< trainer native reads it; else only its default is accepted there
  bool ado = true;      ///< a property of the reference system; false: ours
  std::vector<std::string> methods = {};  ///< whose experiments read it; empty: all
  bool later = false;  ///< keys leave it out while it has its default, so that those from before
                       ///< it was there still hold
  std::string short_options;  ///< "-m,--model", or empty
  std::string unit;           ///< "tokens", "s", ... or empty
  std::string help;
};

/// All properties: required ones, then the optional ones of the reference system, then ours.
const std::vector<Property>& properties();
/// nullptr when there is none. Dashes equal underscores.
const Property* find_property(std::string_view name);

/// One value as it must be kept: Integer properties as an integer, Real ones as a real. Wrong types
/// and out-of-domain values are diagnosed with the value, the allowed set or range and the nearest
/// allowed values.
std::optional<Json> check_value(const Property& property, const Json& value, std::string_view where,
                                Diagnostics& problems);

/// Reads one value: "8", "1e-5", "true/false/yes/no/on/off/1/0", "null"/"none" where null is
/// allowed, JSON for lists. Diagnoses as check_value does.
std::optional<Json> parse_value(const Property& property, std::string_view text,
                                std::string_view where, Diagnostics& problems);

/// Reads "4", "4,8", "1..8", "512..2048:512" (inclusive, with step), "1e-6..1e-3*10" (inclusive, by
/// a factor), or a JSON list. A comma inside a text is written "\,". A value given twice counts
/// once. All mistakes are reported.
std::vector<Json> parse_values(const Property& property, std::string_view text,
                               std::string_view where, Diagnostics& problems);

}  // namespace tunebench::experiment
