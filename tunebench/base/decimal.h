#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tunebench {

/// A number as it was written: digits x 10^exponent, exactly. A double has no 0.1, and ranges that
/// are counted in doubles gain or lose their last member.
struct Decimal {
  std::int64_t digits = 0;
  int exponent = 0;

  /// The nearest double.
  [[nodiscard]] double value() const;
  /// An integer when it is whole and fits, else the shortest text of value().
  [[nodiscard]] std::string text() const;
  /// The integer, when it is whole and fits.
  [[nodiscard]] std::optional<std::int64_t> whole() const;
};

/// What parse_real reads, with at most 18 significant digits; else nullopt.
std::optional<Decimal> parse_decimal(std::string_view text);
/// The decimal with the shortest text of that double; nullopt when it is not finite.
std::optional<Decimal> decimal_of(double value);

// Exact, or nullopt when the result needs more than 18 digits.
std::optional<Decimal> add(const Decimal& a, const Decimal& b);
std::optional<Decimal> multiply(const Decimal& a, const Decimal& b);
std::optional<Decimal> multiply(const Decimal& a, std::int64_t times);
/// Below 0, 0 or above 0 as a is less than, equal to or more than b.
int compare(const Decimal& a, const Decimal& b);
/// floor((to - from) / step), step above 0: how many whole steps fit. nullopt when that needs too
/// many digits. `exact` tells whether the last step ends on `to`.
struct WholeSteps {
  std::int64_t count = 0;
  bool exact = false;
};
std::optional<WholeSteps> whole_steps(const Decimal& from, const Decimal& to, const Decimal& step);

}  // namespace tunebench
