#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tunebench/base/decimal.h"
#include "tunebench/base/json.h"

namespace tunebench::space {

/// Kinds of variables of the reference system (ado).
enum class VariableType {
  Unknown,
  Continuous,
  Discrete,
  Categorical,
  OpenCategorical,
  Binary,
  Identifier,
};
/// CONTINUOUS_VARIABLE_TYPE, ...
std::string_view variable_type_name(VariableType type);
std::optional<VariableType> find_variable_type(std::string_view name);

/// What a dimension of an ado space may be, as written.
struct DomainText {
  std::optional<std::vector<Json>> values;
  std::optional<Decimal> interval;
  std::optional<std::pair<Decimal, Decimal>> range;  ///< lower end in, upper end out
  std::optional<VariableType> type;
};

/// A checked domain. Source of the rules: github.com/IBM/ado, ado/schema/domain.py; where doubles
/// leak an upper end there, members are exact here, and empty lists and doubled values are refused.
class Domain {
 public:
  /// nullopt and a sentence in `problem` when the parts contradict each other.
  static std::optional<Domain> make(const DomainText& text, std::string& problem);

  [[nodiscard]] VariableType type() const { return type_; }
  /// nullopt: infinite.
  [[nodiscard]] std::optional<std::int64_t> size() const;
  /// In the order written. Empty when the size is infinite.
  [[nodiscard]] std::vector<Json> members() const;
  /// Integer 1 equals real 1.0 and true. nullopt: an identifier, of which nobody knows.
  [[nodiscard]] std::optional<bool> contains(const Json& value) const;
  /// Every member of this one is in `other`.
  [[nodiscard]] bool is_inside(const Domain& other) const;
  /// As ado writes it: no range beside values, no type that can be inferred.
  [[nodiscard]] Json json() const;
  friend bool operator==(const Domain& a, const Domain& b) { return a.json() == b.json(); }

 private:
  [[nodiscard]] bool numbers_inside(const Domain& other) const;
  [[nodiscard]] bool discrete_inside(const Domain& other) const;
  VariableType type_ = VariableType::Unknown;
  bool inferred_ = true;
  std::vector<Json> values_;
  std::optional<Decimal> interval_;
  std::optional<std::pair<Decimal, Decimal>> range_;
};

/// Integer 1, real 1.0 and true are the same value, as in ado.
bool same_value(const Json& a, const Json& b);

/// A dimension of an entity space.
struct DomainOf {
  std::string name;
  Domain domain;
};
/// A point is a member when it has exactly the names of the dimensions and each value is in its
/// domain: a point with one property more is not in a smaller space.
bool is_member(const std::vector<DomainOf>& dimensions, const std::map<std::string, Json>& point);

}  // namespace tunebench::space
