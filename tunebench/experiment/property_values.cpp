// Several values in one text: lists, ranges, JSON arrays.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"
#include "tunebench/experiment/range.h"

namespace tunebench::experiment {
namespace {

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

  /// "1..8", "512..2048:512" or "1e-6..1e-3*10".
  void add_range(std::string_view item) {
    const std::size_t dots = item.find("..");
    const std::string_view first_text = trim(item.substr(0, dots));
    std::string_view last_text = trim(item.substr(dots + 2));
    const std::size_t sign = last_text.find_first_of(":*");
    const bool grows = sign != std::string_view::npos && last_text[sign] == '*';
    std::optional<Decimal> step;
    if (sign != std::string_view::npos) {
      step = parse_decimal(trim(last_text.substr(sign + 1)));
      if (!step || step->digits <= 0) {
        return problem(fmt::format("{}: the {} of '{}' must be a number above {}", property_.name,
                                   grows ? "factor" : "step", printable(item), grows ? 1 : 0));
      }
      last_text = trim(last_text.substr(0, sign));
    } else if (property_.type == ValueType::Integer || property_.domain.interval) {
      step = decimal_of(property_.domain.interval.value_or(1.0));
    }
    const std::optional<Decimal> first = parse_decimal(first_text);
    const std::optional<Decimal> last = parse_decimal(last_text);
    if (!first || !last) {
      return problem(fmt::format("{}: '{}' is not a range", property_.name, printable(item)),
                     "write 1..8, 512..2048:512 or 1e-6..1e-3*10");
    }
    if (!step) {
      return problem(fmt::format("{}: '{}' needs a step", property_.name, printable(item)),
                     fmt::format("write {}..{}:STEP or {}..{}*FACTOR", first_text, last_text,
                                 first_text, last_text));
    }
    if (compare(*first, *last) > 0) {
      return problem(fmt::format("{}: '{}' runs backwards", property_.name, printable(item)),
                     fmt::format("write {}..{}", last->text(), first->text()));
    }
    add_members(
        grows ? factor_members(*first, *last, *step) : stepped_members(*first, *last, *step, true),
        number_of(*first), number_of(*last), item);
  }

  [[nodiscard]] std::vector<Json> take() { return std::move(values_); }

  void problem(std::string text, std::string hint = "") {
    problems_.push_back({std::string(where_), std::move(text), std::move(hint)});
  }

 private:
  void add_members(const Members& members, const Json& first, const Json& last,
                   std::string_view item) {
    if (!members.problem.empty()) {
      return problem(fmt::format("{}: '{}' {}", property_.name, printable(item), members.problem));
    }
    // Both ends are judged first, so that a range that is out of the domain is one mistake or two
    // and not thousands.
    const std::size_t before = problems_.size();
    check_value(property_, first, where_, problems_);
    if (last != first) {
      check_value(property_, last, where_, problems_);
    }
    for (const Json& value : members.values) {
      if (problems_.size() > before) {
        return;
      }
      add_value(value);
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
