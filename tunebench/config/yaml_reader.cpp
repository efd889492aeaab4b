#include "tunebench/config/yaml_reader.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "tunebench/base/text.h"

namespace tunebench::config {

std::string shown(const YamlNode& value) {
  if (!value.is_scalar()) {
    return std::string(value.kind_name());
  }
  if (value.is_null()) {
    return "empty";
  }
  return value.value.is_string() ? "'" + excerpt(value.text) + "'" : excerpt(value.text);
}

std::optional<bool> boolean_of(const YamlNode& value) {
  if (value.is_scalar() && value.value.is_bool()) {
    return value.value.as_bool();
  }
  const std::string word = value.is_scalar() && !value.quoted ? lower_ascii(value.text) : "";
  if (word == "yes" || word == "on") {
    return true;
  }
  if (word == "no" || word == "off") {
    return false;
  }
  return std::nullopt;
}

MappingReader::MappingReader(const SourceText& source, const YamlNode& node, std::string_view what,
                             Diagnostics& problems)
    : source_(source), node_(node), what_(what), problems_(problems) {
  if (!node.is_mapping()) {
    problems_.push_back(source_.mistake(
        node.place, fmt::format("'{}' is {} but must be a mapping of keys", what_, shown(node))));
  }
}

const YamlNode* MappingReader::take(std::string_view key) {
  known_.emplace(key);
  return node_.find(key);
}

const YamlNode* MappingReader::require(std::string_view key) {
  const YamlNode* value = take(key);
  if (value == nullptr || value->is_null()) {
    if (node_.is_mapping()) {
      problems_.push_back(source_.mistake(value == nullptr ? node_.place : value->place,
                                          fmt::format("'{}' has no '{}'", what_, key)));
    }
    return nullptr;
  }
  return value;
}

void MappingReader::wrong(const YamlNode& value, std::string text, std::string hint) {
  problems_.push_back(source_.mistake(value.place, std::move(text), std::move(hint)));
}

void MappingReader::wrong_type(std::string_view key, const YamlNode& value,
                               std::string_view expected) {
  wrong(value, fmt::format("'{}' is {} but must be {}", key, shown(value), expected));
}

std::optional<std::string> MappingReader::text(std::string_view key) {
  const YamlNode* value = take(key);
  if (value == nullptr || value->is_null()) {
    return std::nullopt;
  }
  if (!value->is_scalar() || !value->value.is_string()) {
    wrong_type(key, *value, "a text");
    return std::nullopt;
  }
  return value->text;
}

std::optional<std::string> MappingReader::name(std::string_view key) {
  const YamlNode* value = take(key);
  if (value == nullptr || value->is_null()) {
    return std::nullopt;
  }
  if (!value->is_scalar()) {
    wrong_type(key, *value, "a name");
    return std::nullopt;
  }
  return value->text;
}

std::optional<std::int64_t> MappingReader::integer(std::string_view key, std::int64_t lowest) {
  const YamlNode* value = take(key);
  if (value == nullptr || value->is_null()) {
    return std::nullopt;
  }
  if (!value->is_scalar() || !value->value.is_int() || value->value.as_int() < lowest) {
    wrong_type(key, *value, fmt::format("a whole number of at least {}", lowest));
    return std::nullopt;
  }
  return value->value.as_int();
}

std::optional<double> MappingReader::real(std::string_view key) {
  const YamlNode* value = take(key);
  if (value == nullptr || value->is_null()) {
    return std::nullopt;
  }
  if (!value->is_scalar() || !value->value.is_number()) {
    wrong_type(key, *value, "a number");
    return std::nullopt;
  }
  return value->value.as_double();
}

std::optional<bool> MappingReader::boolean(std::string_view key) {
  const YamlNode* value = take(key);
  if (value == nullptr || value->is_null()) {
    return std::nullopt;
  }
  const std::optional<bool> read = boolean_of(*value);
  if (!read) {
    wrong_type(key, *value, "true or false");
  }
  return read;
}

std::optional<std::string> MappingReader::word(std::string_view key,
                                               const std::vector<std::string>& words) {
  const YamlNode* value = take(key);
  if (value == nullptr || value->is_null()) {
    return std::nullopt;
  }
  if (value->is_scalar() && std::ranges::find(words, value->text) != words.end()) {
    return value->text;
  }
  wrong(*value,
        fmt::format("'{}' is {} but must be one of {}", key, shown(*value), join(words, ", ")),
        value->is_scalar() ? did_you_mean(value->text, words) : "");
  return std::nullopt;
}

std::vector<const YamlNode*> MappingReader::list(std::string_view key) {
  std::vector<const YamlNode*> items;
  const YamlNode* value = take(key);
  if (value == nullptr || value->is_null()) {
    return items;
  }
  if (!value->is_sequence()) {
    wrong_type(key, *value, "a list");
    return items;
  }
  for (const YamlNode& item : value->items) {
    items.push_back(&item);
  }
  return items;
}

std::vector<const YamlNode*> MappingReader::texts(std::string_view key) {
  const YamlNode* value = take(key);
  std::vector<const YamlNode*> items;
  if (value == nullptr || value->is_null()) {
    return items;
  }
  if (value->is_sequence()) {
    items = list(key);
  } else {
    items.push_back(value);
  }
  std::erase_if(items, [&](const YamlNode* item) {
    const bool text = item->is_scalar() && item->value.is_string();
    if (!text) {
      wrong_type(key, *item, "a text, or a list of texts");
    }
    return !text;
  });
  return items;
}

void MappingReader::finish(std::string_view kind) {
  finish(kind, {});
}

void MappingReader::finish(std::string_view kind, const std::vector<std::string>& also) {
  std::vector<std::string> words(known_.begin(), known_.end());
  words.insert(words.end(), also.begin(), also.end());
  // A document of another kind has a thousand of them.
  constexpr int kMostTold = 50;
  int told = 0;
  for (const YamlMember& member : node_.members) {
    if (!known_.contains(member.key) && ++told > kMostTold) {
      problems_.push_back(
          source_.mistake(member.place, fmt::format("and further unknown {}s", kind)));
      return;
    }
    if (!known_.contains(member.key)) {
      problems_.push_back(source_.marked(member.place, display_width(member.key),
                                         fmt::format("unknown {} '{}'", kind, excerpt(member.key)),
                                         did_you_mean(member.key, words)));
    }
  }
}

}  // namespace tunebench::config
