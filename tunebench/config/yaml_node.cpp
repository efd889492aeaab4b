// Values of YAML and the text of their file, without the parser.
#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/config/yaml.h"

namespace tunebench::config {
namespace {

bool one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Digits of base 8 or 16 after "0o" or "0x".
std::optional<std::int64_t> read_base(std::string_view digits, int base) {
  std::int64_t value = 0;
  if (digits.empty()) {
    return std::nullopt;
  }
  for (const char c : digits) {
    const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
    const int digit = is_digit(lower)                ? lower - '0'
                      : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10
                                                     : base;
    if (digit >= base || value > (std::numeric_limits<std::int64_t>::max() - digit) / base) {
      return std::nullopt;
    }
    value = value * base + digit;
  }
  return value;
}

/// 010 is 8 to some programs and 10 to others.
bool leading_zero(std::string_view digits) {
  return digits.size() > 1 && digits[0] == '0' && is_digit(digits[1]);
}

Json read_number(std::string_view text) {
  std::string_view digits = text;
  const bool minus = digits.starts_with('-');
  if (minus || digits.starts_with('+')) {
    digits.remove_prefix(1);
  }
  if (digits.empty() || leading_zero(digits) || !(is_digit(digits[0]) || digits[0] == '.')) {
    return Json(text);
  }
  const std::string unsigned_text = (minus ? "-" : "") + std::string(digits);
  if (const std::optional<std::int64_t> whole = parse_int(unsigned_text)) {
    return Json(*whole);
  }
  if (const std::optional<double> real = parse_real(unsigned_text)) {
    return Json(*real);
  }
  return Json(text);
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found =
      std::ranges::find_if(members, [&](const YamlMember& member) { return member.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

std::string_view YamlNode::kind_name() const {
  return is_mapping() ? "a mapping" : is_sequence() ? "a list" : value.kind_name();
}

Json YamlNode::json() const {
  if (is_scalar()) {
    return value;
  }
  if (is_sequence()) {
    Json array = Json::array();
    for (const YamlNode& item : items) {
      array.push_back(item.json());
    }
    return array;
  }
  Json::Object object;
  for (const YamlMember& member : members) {
    object.emplace_back(member.key, member.value.json());
  }
  return Json(std::move(object));
}

Json core_scalar(std::string_view text) {
  if (text.empty() || one_of(text, {"~", "null", "Null", "NULL"})) {
    return {};
  }
  if (one_of(text, {"true", "True", "TRUE"})) {
    return Json(true);
  }
  if (one_of(text, {"false", "False", "FALSE"})) {
    return Json(false);
  }
  if (one_of(text, {".nan", ".NaN", ".NAN"})) {
    return Json(std::numeric_limits<double>::quiet_NaN());
  }
  if (one_of(text, {".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"})) {
    return Json(std::numeric_limits<double>::infinity());
  }
  if (one_of(text, {"-.inf", "-.Inf", "-.INF"})) {
    return Json(-std::numeric_limits<double>::infinity());
  }
  if (text.starts_with("0x") || text.starts_with("0o")) {
    const std::optional<std::int64_t> value = read_base(text.substr(2), text[1] == 'x' ? 16 : 8);
    return value ? Json(*value) : Json(text);
  }
  return read_number(text);
}

std::string yaml_scalar(const Json& value) {
  if (!value.is_string()) {
    return value.dump();
  }
  const std::string& text = value.as_string();
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+*%";
  const bool plain = !text.empty() && text.find_first_not_of(kPlain) == std::string::npos &&
                     std::string_view("-*%.").find(text[0]) == std::string_view::npos &&
                     core_scalar(text).is_string() && !is_digit(text[0]) &&
                     !one_of(lower_ascii(text), {"yes", "no", "on", "off", "y", "n"});
  // A JSON string is a double-quoted scalar.
  return plain ? text : value.dump();
}

SourceText::SourceText(std::string name, std::string text)
    : name_(std::move(name)), text_(std::move(text)) {
  starts_.push_back(0);
  for (std::size_t at = 0; at < text_.size(); ++at) {
    if (text_[at] == '\n') {
      starts_.push_back(at + 1);
    }
  }
}

std::string SourceText::where(Place place) const {
  return fmt::format("{}:{}:{}", printable(name_), place.line, place.column);
}

Diagnostic SourceText::mistake(Place place, std::string text, std::string hint) const {
  return {where(place), std::move(text), std::move(hint)};
}

Diagnostic SourceText::marked(Place place, std::size_t width, std::string text,
                              std::string hint) const {
  Diagnostic problem = mistake(place, std::move(text), std::move(hint));
  const auto index = static_cast<std::size_t>(std::max(1, place.line)) - 1;
  if (index >= starts_.size()) {
    return problem;
  }
  const std::size_t end = index + 1 < starts_.size() ? starts_[index + 1] - 1 : text_.size();
  std::string_view line(text_.data() + starts_[index], end - starts_[index]);
  line.remove_suffix(line.ends_with('\r') ? 1 : 0);
  constexpr std::size_t kLongestLine = 160;
  const auto column = static_cast<std::size_t>(std::max(1, place.column)) - 1;
  if (line.size() > kLongestLine || column > line.size()) {
    return problem;
  }
  std::string shown_line(line);
  // A tab would move the mark.
  std::ranges::replace(shown_line, '\t', ' ');
  const std::string_view all = shown_line;
  const std::size_t marks =
      std::max<std::size_t>(1, std::min(width, display_width(all.substr(column))));
  problem.snippet =
      fmt::format("{:>4} | {}\n     | {}{}", place.line, printable(all),
                  std::string(display_width(all.substr(0, column)), ' '), std::string(marks, '^'));
  return problem;
}

}  // namespace tunebench::config
