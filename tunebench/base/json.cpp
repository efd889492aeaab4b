#include "tunebench/base/json.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"

namespace tunebench {
namespace {

/// The whole number that a double is, when int64 can hold it.
std::optional<std::int64_t> whole(double value) {
  // 2^63 is the first double above the range; -2^63 is in it.
  constexpr double kLimit = 9223372036854775808.0;
  if (!(value >= -kLimit && value < kLimit) || std::trunc(value) != value) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(value);
}

std::string_view name_of(Json::Kind kind) {
  switch (kind) {
    case Json::Kind::Null:
      return "null";
    case Json::Kind::Boolean:
      return "a boolean";
    case Json::Kind::Integer:
      return "an integer";
    case Json::Kind::Real:
      return "a real number";
    case Json::Kind::String:
      return "a string";
    case Json::Kind::Array:
      return "an array";
    case Json::Kind::Object:
      return "an object";
  }
  return "an unknown value";
}

[[noreturn]] void throw_wrong_kind(std::string_view expected, const Json& found) {
  throw Error(ErrorCode::InvalidInput,
              fmt::format("expected {}, found {}", expected, found.kind_name()));
}

void write_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const auto first = static_cast<unsigned char>(text.front());
    if (length == 0) {
      out += "\xEF\xBF\xBD";  // U+FFFD: a document of broken UTF-8 could not be read back at all
    } else if (length > 1) {
      out += text.substr(0, length);
    } else if (first == '"' || first == '\\') {
      out += '\\';
      out += text.front();
    } else if (first >= 0x20) {
      out += text.front();
    } else if (first == '\n') {
      out += "\\n";
    } else if (first == '\t') {
      out += "\\t";
    } else if (first == '\r') {
      out += "\\r";
    } else {
      out += fmt::format("\\u{:04x}", first);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  out += '"';
}

/// Writes a value either as it stands or in canonical form.
class Writer {
 public:
  Writer(int indent, bool canonical) : indent_(indent), canonical_(canonical) {}

  std::string take(const Json& value) {
    write(value, 0);
    return std::move(out_);
  }

 private:
  void write(const Json& value, int depth) {
    switch (value.kind()) {
      case Json::Kind::Null:
        out_ += "null";
        break;
      case Json::Kind::Boolean:
        out_ += value.as_bool() ? "true" : "false";
        break;
      case Json::Kind::Integer:
        out_ += fmt::format("{}", value.as_int());
        break;
      case Json::Kind::Real:
        write_real(value.as_double());
        break;
      case Json::Kind::String:
        write_string(out_, value.as_string());
        break;
      case Json::Kind::Array:
        write_array(value.as_array(), depth);
        break;
      case Json::Kind::Object:
        write_object(value.as_object(), depth);
        break;
    }
  }

  void write_real(double value) {
    const std::optional<std::int64_t> integer = canonical_ ? whole(value) : std::nullopt;
    if (integer) {
      out_ += fmt::format("{}", *integer);
    } else {
      out_ += std::isfinite(value) ? shortest(value) : "null";
    }
  }

  void write_array(const Json::Array& items, int depth) {
    out_ += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      out_ += i == 0 ? "" : ",";
      break_line(depth + 1);
      write(items[i], depth + 1);
    }
    if (!items.empty()) {
      break_line(depth);
    }
    out_ += ']';
  }

  void write_object(const Json::Object& members, int depth) {
    std::vector<const Json::Member*> order;
    order.reserve(members.size());
    for (const Json::Member& member : members) {
      order.push_back(&member);
    }
    if (canonical_) {
      std::stable_sort(
          order.begin(), order.end(),
          [](const Json::Member* a, const Json::Member* b) { return a->first < b->first; });
    }
    out_ += '{';
    for (std::size_t i = 0; i < order.size(); ++i) {
      out_ += i == 0 ? "" : ",";
      break_line(depth + 1);
      write_string(out_, order[i]->first);
      out_ += indent_ < 0 ? ":" : ": ";
      write(order[i]->second, depth + 1);
    }
    if (!order.empty()) {
      break_line(depth);
    }
    out_ += '}';
  }

  void break_line(int depth) {
    if (indent_ >= 0) {
      out_ += '\n';
      out_.append(static_cast<std::size_t>(indent_) * static_cast<std::size_t>(depth), ' ');
    }
  }

  int indent_;
  bool canonical_;
  std::string out_;
};

bool equal_objects(const Json::Object& a, const Json::Object& b) {
  if (a.size() != b.size()) {
    return false;
  }
  const auto sorted = [](const Json::Object& members) {
    std::vector<const Json::Member*> order;
    order.reserve(members.size());
    for (const Json::Member& member : members) {
      order.push_back(&member);
    }
    std::stable_sort(order.begin(), order.end(), [](const Json::Member* x, const Json::Member* y) {
      return x->first < y->first;
    });
    return order;
  };
  const std::vector<const Json::Member*> left = sorted(a);
  const std::vector<const Json::Member*> right = sorted(b);
  return std::equal(left.begin(), left.end(), right.begin(),
                    [](const Json::Member* x, const Json::Member* y) {
                      return x->first == y->first && x->second == y->second;
                    });
}

}  // namespace

bool Json::as_bool() const {
  if (const bool* value = std::get_if<bool>(&value_)) {
    return *value;
  }
  throw_wrong_kind("a boolean", *this);
}

std::int64_t Json::as_int() const {
  if (const std::int64_t* value = std::get_if<std::int64_t>(&value_)) {
    return *value;
  }
  if (const double* value = std::get_if<double>(&value_)) {
    if (const std::optional<std::int64_t> integer = whole(*value)) {
      return *integer;
    }
    throw Error(ErrorCode::InvalidInput,
                fmt::format("expected an integer, found {}", shortest(*value)));
  }
  throw_wrong_kind("an integer", *this);
}

double Json::as_double() const {
  if (const double* value = std::get_if<double>(&value_)) {
    return *value;
  }
  if (const std::int64_t* value = std::get_if<std::int64_t>(&value_)) {
    return static_cast<double>(*value);
  }
  throw_wrong_kind("a number", *this);
}

const std::string& Json::as_string() const& {
  if (const std::string* value = std::get_if<std::string>(&value_)) {
    return *value;
  }
  throw_wrong_kind("a string", *this);
}

const Json::Array& Json::as_array() const& {
  if (const Array* value = std::get_if<Array>(&value_)) {
    return *value;
  }
  throw_wrong_kind("an array", *this);
}

const Json::Object& Json::as_object() const& {
  if (const Object* value = std::get_if<Object>(&value_)) {
    return *value;
  }
  throw_wrong_kind("an object", *this);
}

Json::Array& Json::as_array() & {
  if (Array* value = std::get_if<Array>(&value_)) {
    return *value;
  }
  throw_wrong_kind("an array", *this);
}

Json::Object& Json::as_object() & {
  if (Object* value = std::get_if<Object>(&value_)) {
    return *value;
  }
  throw_wrong_kind("an object", *this);
}

std::string Json::as_string() && {
  if (std::string* value = std::get_if<std::string>(&value_)) {
    return std::move(*value);
  }
  throw_wrong_kind("a string", *this);
}

Json::Array Json::as_array() && {
  return std::move(as_array());
}

Json::Object Json::as_object() && {
  return std::move(as_object());
}

const Json* Json::find(std::string_view key) const {
  const Object* members = std::get_if<Object>(&value_);
  if (members == nullptr) {
    return nullptr;
  }
  const auto found = std::find_if(members->begin(), members->end(),
                                  [&](const Member& member) { return member.first == key; });
  return found == members->end() ? nullptr : &found->second;
}

const Json& Json::at(std::string_view key) const& {
  if (const Json* value = find(key)) {
    return *value;
  }
  throw Error(ErrorCode::NotFound, fmt::format("key '{}' is missing", printable(key)));
}

Json Json::at(std::string_view key) && {
  // What find() points to is this value's own, which its end gives leave to take apart.
  return std::move(const_cast<Json&>(std::as_const(*this).at(key)));
}

Json& Json::set(std::string key, Json value) {
  if (is_null()) {
    value_ = Object();
  }
  Object& members = as_object();
  const auto found = std::find_if(members.begin(), members.end(),
                                  [&](const Member& member) { return member.first == key; });
  if (found == members.end()) {
    members.emplace_back(std::move(key), std::move(value));
  } else {
    found->second = std::move(value);
  }
  return *this;
}

void Json::push_back(Json value) {
  if (is_null()) {
    value_ = Array();
  }
  as_array().push_back(std::move(value));
}

std::string Json::dump(int indent) const {
  return Writer(indent, false).take(*this);
}

std::string Json::canonical() const {
  return Writer(-1, true).take(*this);
}

std::string_view Json::kind_name() const {
  return name_of(kind());
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number() && a.kind() != b.kind()) {
    const std::optional<std::int64_t> integer = whole(a.is_int() ? b.as_double() : a.as_double());
    return integer && *integer == (a.is_int() ? a : b).as_int();
  }
  if (a.is_object() && b.is_object()) {
    return equal_objects(a.as_object(), b.as_object());
  }
  return a.value_ == b.value_;
}

}  // namespace tunebench
