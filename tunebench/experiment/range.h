#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tunebench/base/decimal.h"
#include "tunebench/base/json.h"

namespace tunebench::experiment {

/// More members than this are a slip of the hand.
inline constexpr std::int64_t kMostMembers = 1'000'000;

/// A whole decimal as an integer, any other as the nearest double.
Json number_of(const Decimal& number);

/// The members of a range, or what is wrong with it in words that follow "the range".
struct Members {
  std::vector<Json> values;
  std::string problem;
};

/// from, from + step, ... up to `to`, which is a member or not. Exact: 0, 0.3, ... below 0.9 are
/// three members. step must be above 0.
Members stepped_members(const Decimal& from, const Decimal& to, const Decimal& step,
                        bool with_last);
/// from, from x factor, ... up to and with `to`. Exact while 18 digits hold the members, then 15
/// digits of each. from must be above 0, factor above 1.
Members factor_members(const Decimal& from, const Decimal& to, const Decimal& factor);
/// `count` members from `from` to `to`, both in, each the same multiple of the one before, of 15
/// digits; whole: rounded to integers, equal ones once. Both ends must be above 0.
Members log_members(const Decimal& from, const Decimal& to, std::int64_t count, bool whole);

}  // namespace tunebench::experiment
