#include "tunebench/space/space.h"

#include <algorithm>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench::space {

Space::Space(std::vector<Dimension> dimensions, std::vector<Variant> variants,
             std::vector<Rule> rules)
    : dimensions_(std::move(dimensions)), variants_(std::move(variants)), rules_(std::move(rules)) {
  TB_CHECK(!variants_.empty());
  for (const Rule& rule : rules_) {
    bound_.push_back(bind(rule));
  }
}

std::optional<std::uint64_t> Space::size() const {
  std::uint64_t size = variants_.size();
  for (const Dimension& dimension : dimensions_) {
    if (__builtin_mul_overflow(size, std::uint64_t{dimension.values.size()}, &size)) {
      return std::nullopt;
    }
  }
  return size;
}

double Space::approximate_size() const {
  auto size = static_cast<double>(variants_.size());
  for (const Dimension& dimension : dimensions_) {
    size *= static_cast<double>(dimension.values.size());
  }
  return size;
}

std::size_t Space::choices(std::size_t digit) const {
  return digit < dimensions_.size() ? dimensions_[digit].values.size() : variants_.size();
}

Digits Space::digits_of(std::uint64_t index) const {
  Digits result(digits());
  for (std::size_t digit = digits(); digit-- > 0;) {
    result[digit] = index % choices(digit);
    index /= choices(digit);
  }
  return result;
}

std::uint64_t Space::index_of(const Digits& point_digits) const {
  std::uint64_t index = 0;
  for (std::size_t digit = 0; digit < digits(); ++digit) {
    index = index * choices(digit) + point_digits[digit];
  }
  return index;
}

experiment::Point Space::point(const Digits& point_digits) const {
  const Variant& variant = variants_[point_digits.back()];
  experiment::Point point{variant.experiment, variant.inputs};
  for (std::size_t i = 0; i < dimensions_.size(); ++i) {
    point.inputs[dimensions_[i].property] = dimensions_[i].values[point_digits[i]];
  }
  return point;
}

Json Space::value_of(const std::string& name, std::size_t source, std::size_t choice) const {
  if (source < dimensions_.size()) {
    return dimensions_[source].values[choice];
  }
  const Variant& variant = variants_[choice];
  return name == "experiment" ? Json(variant.experiment) : variant.inputs.at(name);
}

Space::Bound Space::bind(const Rule& rule) const {
  Bound bound;
  for (const std::string& name : rule.condition->used()) {
    const auto found = std::ranges::find(dimensions_, name, &Dimension::property);
    const auto source = static_cast<std::size_t>(found - dimensions_.begin());
    bound.sources.push_back(source);
    bound.values.push_back(value_of(name, source, 0));
    bound.shown.push_back(0);
    // An input that all variants share binds the rule to nothing.
    const bool differs =
        source < dimensions_.size() || std::ranges::any_of(variants_, [&](const Variant& variant) {
          const Json value =
              name == "experiment" ? Json(variant.experiment) : variant.inputs.at(name);
          return value != bound.values.back();
        });
    if (differs && std::ranges::find(bound.digits, source) == bound.digits.end()) {
      bound.digits.push_back(source);
    }
  }
  std::ranges::sort(bound.digits);
  return bound;
}

bool Space::keeps(std::size_t rule, const Digits& point_digits) const {
  const Bound& bound = bound_[rule];
  const std::vector<std::string>& names = rules_[rule].condition->used();
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t choice = point_digits[bound.sources[i]];
    if (bound.shown[i] != choice) {
      bound.values[i] = value_of(names[i], bound.sources[i], choice);
      bound.shown[i] = choice;
    }
  }
  return with_context(rules_[rule].where,
                      [&] { return rules_[rule].condition->holds(bound.values); });
}

std::optional<std::size_t> Space::excluded_by(const Digits& point_digits) const {
  for (std::size_t rule = 0; rule < rules_.size(); ++rule) {
    if (!keeps(rule, point_digits)) {
      return rule;
    }
  }
  return std::nullopt;
}

Walk::Walk(const Space& space)
    : space_(space), rules_by_digit_(space.digits()), digits_(space.digits()) {
  for (std::size_t rule = 0; rule < space.rules().size(); ++rule) {
    const std::vector<std::size_t>& digits = space.looks_at(rule);
    rules_by_digit_[digits.empty() ? 0 : digits.back()].push_back(rule);
  }
}

/// The next choice of a digit, those after it back to their first; a digit at its end hands over to
/// the one before it.
bool Walk::advance(std::size_t digit) {
  std::fill(digits_.begin() + static_cast<std::ptrdiff_t>(digit) + 1, digits_.end(), 0);
  while (++digits_[digit] == space_.choices(digit)) {
    digits_[digit] = 0;
    if (digit == 0) {
      return false;
    }
    --digit;
  }
  changed_ = digit;
  return true;
}

bool Walk::next() {
  if (started_ && !advance(digits_.size() - 1)) {
    return false;
  }
  started_ = true;
  for (std::size_t digit = changed_; digit < digits_.size();) {
    bool kept = true;
    for (const std::size_t rule : rules_by_digit_[digit]) {
      if (++looks_ > most_looks_) {
        gave_up_ = true;
        return false;
      }
      if (!space_.keeps(rule, digits_)) {
        kept = false;
        break;
      }
    }
    if (kept) {
      ++digit;
    } else if (!advance(digit)) {
      return false;
    } else {
      digit = changed_;
    }
  }
  changed_ = digits_.size() - 1;
  return true;
}

std::string count_text(double count, bool exact) {
  if (exact && count < 9e15) {
    return with_thousands(static_cast<std::int64_t>(count));
  }
  const std::string text = count < 1e6 ? with_thousands(static_cast<std::int64_t>(count + 0.5))
                                       : fmt::format("{:.2g}", count);
  return exact ? fmt::format("{:.4g}", count) : "about " + text;
}

}  // namespace tunebench::space
