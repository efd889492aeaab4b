#include "tunebench/outside/yaml_text.h"

#include <array>

#include "tunebench/base/text.h"

namespace tunebench::outside {
namespace {

std::string real_text(double value) {
  std::string text = shortest(value);
  const std::size_t exponent = text.find('e');
  if (text.find('.') == std::string::npos && text.find('n') == std::string::npos) {
    text.insert(exponent == std::string::npos ? text.size() : exponent, ".0");
  }
  return text;
}

/// Words of letters and what paths have, that are no number, boolean or null.
bool is_plain(const std::string& text) {
  static constexpr std::array kOthers{"true", "false", "yes", "no", "on",  "off",
                                      "null", "y",     "n",   "~",  "nan", "inf"};
  const std::string lower = lower_ascii(text);
  for (const char* other : kOthers) {
    if (lower == other) {
      return false;
    }
  }
  constexpr const char* kLetters = "abcdefghijklmnopqrstuvwxyz_/";
  return !text.empty() && std::string(kLetters).find(lower.front()) != std::string::npos &&
         lower.find_first_not_of("abcdefghijklmnopqrstuvwxyz_/.-0123456789") == std::string::npos;
}

std::string scalar_text(const Json& value) {
  if (value.is_string()) {
    return is_plain(value.as_string()) ? value.as_string() : value.dump();
  }
  const bool real = value.is_number() && !value.is_int();
  return real ? real_text(value.as_double()) : value.dump();
}

void write(const Json& value, const std::string& indent, std::string& text);

/// What follows "key:" or "-".
void write_member(const Json& value, const std::string& indent, bool of_list, std::string& text) {
  const bool object = value.is_object() && !value.as_object().empty();
  const bool array = value.is_array() && !value.as_array().empty();
  if (!object && !array) {
    text += " " + (value.is_object() ? "{}" : value.is_array() ? "[]" : scalar_text(value)) + "\n";
  } else if (of_list) {
    std::string inner;
    write(value, indent + "  ", inner);
    text += inner.substr(indent.size() + 1);
  } else {
    text += "\n";
    write(value, indent + "  ", text);
  }
}

void write(const Json& value, const std::string& indent, std::string& text) {
  if (value.is_object()) {
    for (const auto& [key, member] : value.as_object()) {
      text += indent + scalar_text(Json(key)) + ":";
      write_member(member, indent, false, text);
    }
    return;
  }
  if (value.is_array()) {
    for (const Json& item : value.as_array()) {
      text += indent + "-";
      write_member(item, indent, true, text);
    }
    return;
  }
  text += scalar_text(value) + "\n";
}

}  // namespace

std::string yaml_text(const Json& value) {
  std::string text;
  write(value, "", text);
  return text;
}

}  // namespace tunebench::outside
