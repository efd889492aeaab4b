// How many points the rules leave. Digits that no chain of rules connects are independent, so that
// the number is the product over the groups of connected ones.
#include <algorithm>
#include <numeric>

#include "tunebench/base/random.h"
#include "tunebench/space/space.h"

namespace tunebench::space {
namespace {

/// Digits that rules connect, and the rules.
struct Group {
  std::vector<std::size_t> digits;
  std::vector<std::size_t> rules;
  double size = 1;
  double kept = 0;
  std::vector<double> broken;  ///< by each rule of the group
};

std::vector<Group> groups_of(const Space& space) {
  std::vector<std::size_t> leader(space.digits());
  std::iota(leader.begin(), leader.end(), std::size_t{0});
  const auto find = [&leader](std::size_t digit) {
    while (leader[digit] != digit) {
      digit = leader[digit];
    }
    return digit;
  };
  for (std::size_t rule = 0; rule < space.rules().size(); ++rule) {
    for (const std::size_t digit : space.looks_at(rule)) {
      leader[find(digit)] = find(space.looks_at(rule).front());
    }
  }
  std::vector<Group> groups(space.digits() + 1);  // the last one: rules that look at no digit
  for (std::size_t digit = 0; digit < space.digits(); ++digit) {
    Group& group = groups[find(digit)];
    group.digits.push_back(digit);
    group.size *= static_cast<double>(space.choices(digit));
  }
  for (std::size_t rule = 0; rule < space.rules().size(); ++rule) {
    const std::vector<std::size_t>& digits = space.looks_at(rule);
    groups[digits.empty() ? space.digits() : find(digits.front())].rules.push_back(rule);
  }
  std::erase_if(groups,
                [](const Group& group) { return group.digits.empty() && group.rules.empty(); });
  return groups;
}

/// Looks at one point of a group.
void look(const Space& space, const Digits& digits, Group& group) {
  bool kept = true;
  for (std::size_t i = 0; i < group.rules.size(); ++i) {
    if (!space.keeps(group.rules[i], digits)) {
      group.broken[i] += 1;
      kept = false;
    }
  }
  group.kept += kept ? 1 : 0;
}

void count_all(const Space& space, Group& group) {
  Digits digits(space.digits());
  for (bool more = true; more;) {
    look(space, digits, group);
    more = false;
    for (std::size_t i = group.digits.size(); i-- > 0 && !more;) {
      const std::size_t digit = group.digits[i];
      more = ++digits[digit] < space.choices(digit);
      digits[digit] = more ? digits[digit] : 0;
    }
  }
}

void count_sample(const Space& space, const CountBudget& budget, std::size_t stream, Group& group) {
  Digits digits(space.digits());
  for (std::uint64_t i = 0; i < budget.sample; ++i) {
    for (std::size_t k = 0; k < group.digits.size(); ++k) {
      const std::size_t digit = group.digits[k];
      digits[digit] =
          uniform_int(budget.seed, stream, i * group.digits.size() + k, space.choices(digit));
    }
    look(space, digits, group);
  }
  const double scale = group.size / static_cast<double>(budget.sample);
  group.kept *= scale;
  for (double& broken : group.broken) {
    broken *= scale;
  }
}

/// The product of the groups' whole numbers, when it is below 2^64.
std::optional<std::uint64_t> exact_product(const std::vector<Group>& groups) {
  std::uint64_t product = 1;
  for (const Group& group : groups) {
    if (group.kept == 0) {
      return 0;
    }
  }
  for (const Group& group : groups) {
    if (group.kept > 9e15 ||
        __builtin_mul_overflow(product, static_cast<std::uint64_t>(group.kept), &product)) {
      return std::nullopt;
    }
  }
  return product;
}

}  // namespace

RuleCount count_kept(const Space& space, const CountBudget& budget) {
  RuleCount result;
  result.excluded.resize(space.rules().size());
  std::vector<Group> groups = groups_of(space);
  double product = 1;
  std::uint64_t left = budget.looks;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    Group& group = groups[i];
    group.broken.resize(group.rules.size());
    if (group.rules.empty()) {
      group.kept = group.size;
    } else if (group.size <= static_cast<double>(left)) {
      left -= static_cast<std::uint64_t>(group.size);
      count_all(space, group);
    } else {
      result.exact = false;
      count_sample(space, budget, i, group);
    }
    product *= group.kept;
  }
  result.kept = product;
  for (const Group& group : groups) {
    const double others = space.approximate_size() / group.size;
    for (std::size_t i = 0; i < group.rules.size(); ++i) {
      result.excluded[group.rules[i]] = group.broken[i] * others;
    }
  }
  if (result.exact) {
    result.kept_exactly = exact_product(groups);
  }
  return result;
}

}  // namespace tunebench::space
