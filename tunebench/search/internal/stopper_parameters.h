#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/json.h"
#include "tunebench/search/stopper.h"

namespace tunebench::search {

/// One parameter of a stopper.
struct ParameterRule {
  enum class Kind {
    Positive,     ///< a number above 0
    NotNegative,  ///< a number from 0
    Count,        ///< a whole number from 1
    WholeFromZero,
    Probability,  ///< a number between 0 and 1
    Flag,
    Mode,     ///< "min" or "max"
    Metric,   ///< one of the context's names
    Ignored,  ///< accepted for ado's sake; our trials have one kind of configuration
  };
  std::string name;
  Kind kind;
  bool required = true;
  Json fallback = {};
};

/// Values of a stopper's parameters, checked.
class Parameters {
 public:
  Parameters(const StopConfig& config, const std::vector<ParameterRule>& rules,
             const StopContext& context, Diagnostics& problems);

  [[nodiscard]] bool good() const { return good_; }
  // For good parameters; a name that no rule has is our bug.
  [[nodiscard]] double number(const std::string& name) const;
  [[nodiscard]] std::int64_t count(const std::string& name) const;
  [[nodiscard]] bool flag(const std::string& name) const;
  [[nodiscard]] Direction direction(const std::string& name) const;
  /// Index into Observation::objectives.
  [[nodiscard]] std::size_t metric(const std::string& name) const;
  [[nodiscard]] std::string text(const std::string& name) const;

 private:
  void complain(const std::string& text, const std::string& hint = {});
  void take(const ParameterRule& rule, const Json& value);
  void take_all(const StopConfig& config, const std::vector<ParameterRule>& rules);
  [[nodiscard]] std::string fault(const ParameterRule& rule, const Json& value) const;

  std::string stopper_;
  const StopContext& context_;
  Diagnostics& problems_;
  std::map<std::string, Json> values_;
  bool good_ = true;
};

}  // namespace tunebench::search
