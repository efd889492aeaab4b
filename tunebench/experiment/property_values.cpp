// Several values in one text: lists, ranges, JSON arrays.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"

namespace tunebench::experiment {
namespace {

/// A range longer than this is a slip of the hand.
constexpr double kMostValues = 1'000'000;
/// Rounding of (last - first) / step that still counts as reaching the last value: 0..1:0.1.
constexpr double kStepSlack = 1e-9;

class ValueList {
 public:
  ValueList(const Property& property, std::string_view where, Diagnostics& problems)
      : property_(property), where_(where), problems_(problems) {}

  void add_value(const Json& value) {
    if (const std::optional<Json> checked = check_value(property_, value, where_, problems_)) {
      keep(*checked);
    }
  }

  void add_text(std::string_view text) {
    if (const std::optional<Json> read = parse_value(property_, text, where_, problems_)) {
      keep(*read);
    }
  }

  /// "1..8" or "512..2048:512".
  void add_range(std::string_view item) {
    const std::size_t dots = item.find("..");
    const std::string_view first_text = trim(item.substr(0, dots));
    std::string_view last_text = trim(item.substr(dots + 2));
    std::optional<double> step;
    if (const std::size_t colon = last_text.find(':'); colon != std::string_view::npos) {
      step = parse_real(trim(last_text.substr(colon + 1)));
      if (!step || !(*step > 0) || !std::isfinite(*step)) {
        return problem(fmt::format("{}: the step of '{}' must be a number above 0", property_.name,
                                   printable(item)));
      }
      last_text = trim(last_text.substr(0, colon));
    } else if (property_.type == ValueType::Integer || property_.domain.interval) {
      step = property_.domain.interval.value_or(1.0);
    }
    const std::optional<double> first = parse_real(first_text);
    const std::optional<double> last = parse_real(last_text);
    if (!first || !last || !std::isfinite(*first) || !std::isfinite(*last)) {
      return problem(fmt::format("{}: '{}' is not a range", property_.name, printable(item)),
                     "write 1..8 or 512..2048:512");
    }
    if (!step) {
      return problem(fmt::format("{}: '{}' needs a step", property_.name, printable(item)),
                     fmt::format("write {}..{}:STEP", first_text, last_text));
    }
    add_numbers(*first, *last, *step, item);
  }

  [[nodiscard]] std::vector<Json> take() { return std::move(values_); }

  void problem(std::string text, std::string hint = "") {
    problems_.push_back({std::string(where_), std::move(text), std::move(hint)});
  }

 private:
  void add_numbers(double first, double last, double step, std::string_view item) {
    if (first > last) {
      return problem(fmt::format("{}: '{}' runs backwards", property_.name, printable(item)),
                     fmt::format("write {}..{}", shortest(last), shortest(first)));
    }
    const double count = std::floor((last - first) / step + kStepSlack) + 1.0;
    if (count > kMostValues) {
      return problem(fmt::format("{}: '{}' is {} values, more than {}", property_.name,
                                 printable(item), shortest(count), shortest(kMostValues)));
    }
    // Both ends are judged first, so that a range that is out of the domain is one mistake or two
    // and not thousands.
    const std::size_t before = problems_.size();
    check_value(property_, Json(first), where_, problems_);
    if (last != first) {
      check_value(property_, Json(last), where_, problems_);
    }
    for (double i = 0; i < count && problems_.size() == before; ++i) {
      // 15 digits: 0..1:0.1 gives 0.3 and not 0.30000000000000004.
      const double value = first + i * step;
      add_value(Json(parse_real(fmt::format("{:.15g}", value)).value_or(value)));
    }
  }

  void keep(const Json& value) {
    if (seen_.insert(value.canonical()).second) {
      values_.push_back(value);
    }
  }

  const Property& property_;
  std::string_view where_;
  Diagnostics& problems_;
  std::vector<Json> values_;
  std::set<std::string> seen_;
};

/// Pieces between commas; "\," is a comma of the text.
std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> items(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size() && text[i + 1] == ',') {
      items.back() += ',';
      ++i;
    } else if (text[i] == ',') {
      items.emplace_back();
    } else {
      items.back() += text[i];
    }
  }
  return items;
}

std::optional<Json> parse_array(std::string_view text) {
  if (trim(text).substr(0, 1) != "[") {
    return std::nullopt;
  }
  try {
    Json array = Json::parse(text, "list");
    return array.is_array() ? std::optional<Json>(std::move(array)) : std::nullopt;
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool is_array_of_values(const Json& array, ValueType type) {
  if (type != ValueType::StringList) {
    return true;
  }
  // A flat list is one value of a list property; several are a list of lists or nulls.
  return std::ranges::all_of(array.as_array(),
                             [](const Json& item) { return item.is_array() || item.is_null(); });
}

}  // namespace

std::vector<Json> parse_values(const Property& property, std::string_view text,
                               std::string_view where, Diagnostics& problems) {
  ValueList list(property, where, problems);
  if (const std::optional<Json> array = parse_array(text)) {
    if (!is_array_of_values(*array, property.type)) {
      list.add_value(*array);
    } else if (array->as_array().empty()) {
      list.problem(property.name + " has no value");
    } else {
      for (const Json& value : array->as_array()) {
        list.add_value(value);
      }
    }
    return list.take();
  }
  if (property.type == ValueType::StringList) {
    list.add_text(text);
    return list.take();
  }
  const bool is_number = property.type == ValueType::Integer || property.type == ValueType::Real;
  const std::vector<std::string> items = split_list(text);
  for (const std::string& item : items) {
    const std::string_view word = property.type == ValueType::String ? item : trim(item);
    if (word.empty() && items.size() > 1) {
      list.problem(fmt::format("{} is '{}', which has an empty place between commas", property.name,
                               printable(text)));
    } else if (is_number && word.find("..") != std::string_view::npos) {
      list.add_range(word);
    } else {
      list.add_text(word);
    }
  }
  return list.take();
}

}  // namespace tunebench::experiment
