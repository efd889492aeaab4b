#include <algorithm>
#include <set>

#include <fmt/core.h>

#include "tunebench/base/decimal.h"
#include "tunebench/base/text.h"
#include "tunebench/config/yaml_reader.h"
#include "tunebench/experiment/property.h"
#include "tunebench/experiment/range.h"
#include "tunebench/plans/plan_document.h"

namespace tunebench::plans {
namespace {

using config::YamlNode;
using experiment::Property;
using experiment::ValueType;

bool is_number_type(const Property& property) {
  return property.type == ValueType::Integer || property.type == ValueType::Real;
}

/// A list that is wrong as a whole is told so often.
constexpr std::size_t kMostMistakes = 50;

class InputValues {
 public:
  InputValues(const config::SourceText& source, const Property& property, Diagnostics& problems)
      : source_(source), property_(property), problems_(problems) {}

  std::vector<Json> read(const YamlNode& node) {
    if (node.is_mapping()) {
      add_range(node);
    } else if (!node.is_sequence()) {
      add_scalar(node);
    } else if (is_one_list(node)) {
      add(node, node.json());
    } else if (node.items.empty()) {
      wrong(node, property_.name + " has no value");
    } else {
      const std::size_t before = problems_.size();
      for (const YamlNode& item : node.items) {
        if (problems_.size() > before + kMostMistakes) {
          wrong(item, "and further mistakes in the same list");
          break;
        }
        if (item.is_scalar()) {
          add_scalar(item);
        } else if (item.is_mapping()) {
          add_range(item);
        } else {
          add(item, item.json());
        }
      }
    }
    return std::move(values_);
  }

 private:
  void wrong(const YamlNode& node, std::string text, std::string hint = "") {
    problems_.push_back(source_.mistake(node.place, std::move(text), std::move(hint)));
  }

  /// A flat list is one value of a list property; several are a list of lists or nulls.
  [[nodiscard]] bool is_one_list(const YamlNode& node) const {
    return property_.type == ValueType::StringList &&
           std::ranges::any_of(node.items, [](const YamlNode& item) {
             return item.is_scalar() && !item.is_null();
           });
  }

  void add(const YamlNode& node, const Json& value) {
    if (const std::optional<Json> checked =
            experiment::check_value(property_, value, source_.where(node.place), problems_)) {
      keep(*checked);
    }
  }

  void keep(const Json& value) {
    if (seen_.insert(value.canonical()).second) {
      values_.push_back(value);
    }
  }

  void add_scalar(const YamlNode& node) {
    if (is_number_type(property_) && node.value.is_string() &&
        node.text.find("..") != std::string::npos) {
      for (const Json& value :
           experiment::parse_values(property_, node.text, source_.where(node.place), problems_)) {
        keep(value);
      }
      return;
    }
    if (property_.type == ValueType::Boolean) {
      const std::optional<bool> read = config::boolean_of(node);
      return add(node, read ? Json(*read) : node.value);
    }
    if (property_.type == ValueType::String && !node.quoted) {
      // 2.10 without quotes is the text that stands there; null only where an input may be unset.
      const std::vector<Json>& words = property_.domain.values;
      const bool text_null = node.is_null() && std::ranges::find(words, Json()) == words.end();
      return add(node, node.is_null() && !text_null ? Json() : Json(node.text));
    }
    add(node, node.value);
  }

  [[nodiscard]] std::optional<Decimal> decimal(config::MappingReader& reader,
                                               std::string_view key) {
    const YamlNode* node = reader.take(key);
    if (node == nullptr || node->is_null()) {
      return std::nullopt;
    }
    const std::optional<Decimal> read =
        node->value.is_number() ? parse_decimal(node->text) : std::nullopt;
    if (!read) {
      reader.wrong_type(key, *node, "a number of at most 18 digits");
    }
    return read;
  }

  void add_range(const YamlNode& node) {
    if (!is_number_type(property_)) {
      return wrong(node, fmt::format("{} takes no range", property_.name));
    }
    const std::size_t before = problems_.size();
    config::MappingReader reader(source_, node, property_.name, problems_);
    const std::optional<Decimal> from = decimal(reader, "from");
    const std::optional<Decimal> to = decimal(reader, "to");
    const std::optional<Decimal> step = decimal(reader, "step");
    const std::optional<Decimal> factor = decimal(reader, "factor");
    const std::optional<std::int64_t> count = reader.integer("count", 2);
    reader.finish();
    if (problems_.size() > before) {
      return;
    }
    const int ways = (step ? 1 : 0) + (factor ? 1 : 0) + (count ? 1 : 0);
    const bool has_grid = property_.type == ValueType::Integer || property_.domain.interval;
    if (!from || !to || ways > 1 || (ways == 0 && !has_grid)) {
      return wrong(node, fmt::format("{}: a range has from, to and one of step, factor, count",
                                     property_.name));
    }
    const experiment::Members members =
        count    ? experiment::log_members(*from, *to, *count, has_grid)
        : factor ? experiment::factor_members(*from, *to, *factor)
                 : experiment::stepped_members(*from, *to, step.value_or(Decimal{1, 0}), true);
    if (!members.problem.empty()) {
      return wrong(node, fmt::format("{}: the range {}", property_.name, members.problem));
    }
    for (const Json& value : members.values) {
      if (problems_.size() == before) {
        add(node, value);
      }
    }
  }

  const config::SourceText& source_;
  const Property& property_;
  Diagnostics& problems_;
  std::vector<Json> values_;
  std::set<std::string> seen_;
};

}  // namespace

std::vector<Json> input_values(const config::SourceText& source, const Property& property,
                               const YamlNode& node, Diagnostics& problems) {
  return InputValues(source, property, problems).read(node);
}

std::vector<experiment::GivenValues> read_inputs(const config::SourceText& source,
                                                 const YamlNode& node, Diagnostics& problems) {
  std::vector<experiment::GivenValues> inputs;
  if (node.is_null()) {
    return inputs;
  }
  config::MappingReader reader(source, node, "inputs", problems);
  for (const config::YamlMember& member : node.members) {
    const Property* property = experiment::find_property(member.key);
    if (property == nullptr) {
      continue;
    }
    reader.take(member.key);
    std::vector<Json> values = input_values(source, *property, member.value, problems);
    if (!values.empty()) {
      inputs.push_back({property->name, std::move(values), source.where(member.place)});
    }
  }
  reader.finish("input", experiment::property_names());
  return inputs;
}

}  // namespace tunebench::plans
