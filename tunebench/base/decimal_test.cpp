#include "tunebench/base/decimal.h"

#include <gtest/gtest.h>

namespace tunebench {
namespace {

TEST(Decimal, ReadsWhatIsWritten) {
  EXPECT_EQ(parse_decimal("0.1")->digits, 1);
  EXPECT_EQ(parse_decimal("0.1")->exponent, -1);
  EXPECT_EQ(parse_decimal("-12.500")->digits, -125);
  EXPECT_EQ(parse_decimal("1e-6")->exponent, -6);
  EXPECT_EQ(parse_decimal("2.5E+3")->text(), "2500");
  EXPECT_EQ(parse_decimal("000.30")->text(), "0.3");
  EXPECT_EQ(parse_decimal("0")->exponent, 0);
  EXPECT_EQ(parse_decimal("x"), std::nullopt);
  EXPECT_EQ(parse_decimal(""), std::nullopt);
  EXPECT_EQ(parse_decimal("1234567890123456789"), std::nullopt) << "19 digits";
  EXPECT_EQ(parse_decimal("1e-400000"), std::nullopt);
  EXPECT_EQ(decimal_of(0.1)->text(), "0.1");
  EXPECT_EQ(decimal_of(1e300)->exponent, 300);
  EXPECT_EQ(decimal_of(1.0 / 0.0), std::nullopt);
}

bool operator_equal(const std::optional<Decimal>& a, const char* text) {
  return a && compare(*a, *parse_decimal(text)) == 0;
}

TEST(Decimal, ReckonsExactly) {
  EXPECT_TRUE(operator_equal(add(*parse_decimal("0.1"), *parse_decimal("0.2")), "0.3"));
  EXPECT_TRUE(operator_equal(multiply(*parse_decimal("0.3"), 3), "0.9"));
  EXPECT_TRUE(operator_equal(multiply(*parse_decimal("1e-6"), *parse_decimal("10")), "1e-5"));
  EXPECT_EQ(multiply(*parse_decimal("0.3"), 3)->value(), 0.9);
  EXPECT_EQ(multiply(*parse_decimal("123456789012"), *parse_decimal("123456789012")), std::nullopt);
  EXPECT_LT(compare(*parse_decimal("-1"), *parse_decimal("0")), 0);
  EXPECT_LT(compare(*parse_decimal("1e-300"), *parse_decimal("1e300")), 0);
  EXPECT_GT(compare(*parse_decimal("0.30000000000000004"), *parse_decimal("0.3")), 0);
}

TEST(Decimal, CountsWholeSteps) {
  const auto steps = [](const char* from, const char* to, const char* step) {
    return whole_steps(*parse_decimal(from), *parse_decimal(to), *parse_decimal(step));
  };
  EXPECT_EQ(steps("0", "0.9", "0.3")->count, 3);
  EXPECT_TRUE(steps("0", "0.9", "0.3")->exact);
  EXPECT_EQ(steps("0", "1", "0.3")->count, 3);
  EXPECT_FALSE(steps("0", "1", "0.3")->exact);
  EXPECT_EQ(steps("1", "0.5", "1")->count, -1);
  EXPECT_EQ(steps("0", "1", "0"), std::nullopt);
  EXPECT_EQ(steps("0", "1e300", "1e-300"), std::nullopt);
}

}  // namespace
}  // namespace tunebench
