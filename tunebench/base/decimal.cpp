#include "tunebench/base/decimal.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tunebench/base/text.h"

namespace tunebench {
namespace {

constexpr int kMostDigits = 18;
/// Beyond the exponents of doubles.
constexpr int kMostExponent = 400;

/// Without trailing zeros.
Decimal shortened(Decimal number) {
  while (number.digits != 0 && number.digits % 10 == 0) {
    number.digits /= 10;
    ++number.exponent;
  }
  if (number.digits == 0) {
    number.exponent = 0;
  }
  return number;
}

/// digits x 10^zeros, or nullopt.
std::optional<std::int64_t> with_zeros(std::int64_t digits, int zeros) {
  if (digits == 0) {
    return 0;
  }
  if (zeros > kMostDigits) {
    return std::nullopt;
  }
  for (int i = 0; i < zeros; ++i) {
    if (__builtin_mul_overflow(digits, std::int64_t{10}, &digits)) {
      return std::nullopt;
    }
  }
  return digits;
}

/// The digits of both at the lower of their exponents.
struct Pair {
  std::int64_t a = 0;
  std::int64_t b = 0;
  int exponent = 0;
};
std::optional<Pair> aligned(const Decimal& a, const Decimal& b) {
  const int exponent = a.digits == 0   ? b.exponent
                       : b.digits == 0 ? a.exponent
                                       : std::min(a.exponent, b.exponent);
  const std::optional<std::int64_t> first = with_zeros(a.digits, a.exponent - exponent);
  const std::optional<std::int64_t> second = with_zeros(b.digits, b.exponent - exponent);
  if (!first || !second) {
    return std::nullopt;
  }
  return Pair{*first, *second, exponent};
}

}  // namespace

double Decimal::value() const {
  return parse_real(fmt::format("{}e{}", digits, exponent)).value_or(0.0);
}

std::optional<std::int64_t> Decimal::whole() const {
  const Decimal number = shortened(*this);
  if (number.exponent < 0) {
    return std::nullopt;
  }
  return with_zeros(number.digits, number.exponent);
}

std::string Decimal::text() const {
  const std::optional<std::int64_t> integer = whole();
  return integer ? fmt::format("{}", *integer) : shortest(value());
}

std::optional<Decimal> parse_decimal(std::string_view text) {
  if (!parse_real(text)) {
    return std::nullopt;
  }
  Decimal number;
  bool negative = false;
  bool fraction = false;
  int count = 0;
  std::size_t at = 0;
  if (text[0] == '-') {
    negative = true;
    at = 1;
  }
  for (; at < text.size() && text[at] != 'e' && text[at] != 'E'; ++at) {
    if (text[at] == '.') {
      fraction = true;
      continue;
    }
    count += number.digits != 0 || text[at] != '0' ? 1 : 0;
    if (count > kMostDigits) {
      return std::nullopt;
    }
    number.digits = number.digits * 10 + (text[at] - '0');
    number.exponent -= fraction ? 1 : 0;
  }
  if (at < text.size()) {
    std::string_view exponent = text.substr(at + 1);
    exponent.remove_prefix(exponent.starts_with('+') ? 1 : 0);
    const std::int64_t power = parse_int(exponent).value_or(0);
    number.exponent += static_cast<int>(std::clamp<std::int64_t>(power, -10'000, 10'000));
  }
  number.digits = negative ? -number.digits : number.digits;
  number = shortened(number);
  if (std::abs(number.exponent) > kMostExponent) {
    return std::nullopt;
  }
  return number;
}

std::optional<Decimal> decimal_of(double value) {
  return std::isfinite(value) ? parse_decimal(shortest(value)) : std::nullopt;
}

std::optional<Decimal> add(const Decimal& a, const Decimal& b) {
  const std::optional<Pair> pair = aligned(a, b);
  std::int64_t sum = 0;
  if (!pair || __builtin_add_overflow(pair->a, pair->b, &sum)) {
    return std::nullopt;
  }
  return shortened({sum, pair->exponent});
}

std::optional<Decimal> multiply(const Decimal& a, const Decimal& b) {
  std::int64_t product = 0;
  if (__builtin_mul_overflow(a.digits, b.digits, &product) ||
      std::abs(a.exponent + b.exponent) > kMostExponent) {
    return std::nullopt;
  }
  return shortened({product, a.exponent + b.exponent});
}

std::optional<Decimal> multiply(const Decimal& a, std::int64_t times) {
  return multiply(a, Decimal{times, 0});
}

int compare(const Decimal& a, const Decimal& b) {
  if (const std::optional<Pair> pair = aligned(a, b)) {
    return pair->a < pair->b ? -1 : pair->a > pair->b ? 1 : 0;
  }
  // So far apart that doubles tell them apart.
  return a.value() < b.value() ? -1 : a.value() > b.value() ? 1 : 0;
}

std::optional<WholeSteps> whole_steps(const Decimal& from, const Decimal& to, const Decimal& step) {
  const std::optional<Decimal> way = add(to, {-from.digits, from.exponent});
  const std::optional<Pair> pair = way ? aligned(*way, step) : std::nullopt;
  if (!pair || pair->b <= 0) {
    return std::nullopt;
  }
  std::int64_t count = pair->a / pair->b;
  const bool exact = pair->a % pair->b == 0;
  if (!exact && pair->a < 0) {
    --count;
  }
  return WholeSteps{count, exact};
}

}  // namespace tunebench
