#include "tunebench/experiment/range.h"

#include <cmath>

#include <fmt/format.h>

#include "tunebench/base/text.h"

namespace tunebench::experiment {
namespace {

std::string too_many(double count) {
  return fmt::format("is {} values, more than {}", shortest(count), kMostMembers);
}

/// 15 digits: 1e-6 x 10 gives 1e-05 and not 9.999999999999999e-06.
double rounded(double value) {
  return parse_real(fmt::format("{:.15g}", value)).value_or(value);
}

}  // namespace

Json number_of(const Decimal& number) {
  if (const std::optional<std::int64_t> whole = number.whole()) {
    return Json(*whole);
  }
  return Json(number.value());
}

Members stepped_members(const Decimal& from, const Decimal& to, const Decimal& step,
                        bool with_last) {
  if (step.digits <= 0) {
    return {{}, "needs a step above 0"};
  }
  if (compare(from, to) > 0) {
    return {{}, "runs backwards"};
  }
  const double steps_to_end = (to.value() - from.value()) / step.value();
  const double count = with_last ? std::floor(steps_to_end) + 1 : std::ceil(steps_to_end);
  if (count > static_cast<double>(kMostMembers)) {
    return {{}, too_many(count)};
  }
  const std::optional<WholeSteps> steps = whole_steps(from, to, step);
  if (!steps) {
    return {{}, "needs more digits than 18"};
  }
  Members members;
  const std::int64_t last = steps->count - (steps->exact && !with_last ? 1 : 0);
  for (std::int64_t i = 0; i <= last; ++i) {
    const std::optional<Decimal> way = multiply(step, i);
    const std::optional<Decimal> member = way ? add(from, *way) : std::nullopt;
    if (!member) {
      return {{}, "needs more digits than 18"};
    }
    members.values.push_back(number_of(*member));
  }
  return members;
}

Members factor_members(const Decimal& from, const Decimal& to, const Decimal& factor) {
  if (from.digits <= 0) {
    return {{}, "must begin above 0 to grow by a factor"};
  }
  if (compare(factor, {1, 0}) <= 0) {
    return {{}, "needs a factor above 1"};
  }
  if (compare(from, to) > 0) {
    return {{}, "runs backwards"};
  }
  const double count = std::floor(std::log(to.value() / from.value()) / std::log(factor.value()));
  if (count + 1 > static_cast<double>(kMostMembers)) {
    return {{}, too_many(count + 1)};
  }
  Members members;
  std::optional<Decimal> exact = from;
  double value = from.value();
  while (exact ? compare(*exact, to) <= 0 : rounded(value) <= to.value()) {
    members.values.push_back(exact ? number_of(*exact) : Json(rounded(value)));
    exact = exact ? multiply(*exact, factor) : std::nullopt;
    value = exact ? exact->value() : value * factor.value();
  }
  return members;
}

Members log_members(const Decimal& from, const Decimal& to, std::int64_t count, bool whole) {
  if (from.digits <= 0 || to.digits <= 0) {
    return {{}, "must lie above 0 to be spread by factors"};
  }
  if (count < 2) {
    return {{}, "needs a count of at least 2"};
  }
  if (count > kMostMembers) {
    return {{}, too_many(static_cast<double>(count))};
  }
  if (compare(from, to) > 0) {
    return {{}, "runs backwards"};
  }
  Members members;
  const double ratio = std::log(to.value() / from.value());
  for (std::int64_t i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / static_cast<double>(count - 1);
    Json member = i == 0           ? number_of(from)
                  : i == count - 1 ? number_of(to)
                                   : Json(rounded(from.value() * std::exp(ratio * share)));
    if (whole && !member.is_int() && std::fabs(member.as_double()) < 9e15) {
      member = Json(static_cast<std::int64_t>(std::llround(member.as_double())));
    }
    if (members.values.empty() || members.values.back() != member) {
      members.values.push_back(std::move(member));
    }
  }
  return members;
}

}  // namespace tunebench::experiment
