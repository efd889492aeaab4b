#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tunebench {

/// A JSON value. Objects keep the order of their members.
///
/// It is the one value type for documents, inputs of experiments, step events and exports, so that
/// no third-party type stands in a header.
class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;
  enum class Kind { Null, Boolean, Integer, Real, String, Array, Object };

  Json() = default;
  // NOLINTBEGIN(google-explicit-constructor): values are written as they stand in a document.
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : value_(static_cast<std::int64_t>(value)) {}
  Json(std::int64_t value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}
  // NOLINTEND(google-explicit-constructor)

  static Json array(Array items = {}) { return Json(std::move(items)); }
  static Json object(Object members = {}) { return Json(std::move(members)); }

  /// Reads one document. `origin` names it in messages ("config.json").
  /// Errors: InvalidInput as "origin:line:column: what is wrong"; an object with the same key twice
  /// is refused by name. Integers that do not fit int64 become Real. Text must be UTF-8.
  static Json parse(std::string_view text, std::string_view origin);

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(value_.index()); }
  [[nodiscard]] bool is_null() const { return kind() == Kind::Null; }
  [[nodiscard]] bool is_bool() const { return kind() == Kind::Boolean; }
  [[nodiscard]] bool is_int() const { return kind() == Kind::Integer; }
  [[nodiscard]] bool is_number() const { return kind() == Kind::Integer || kind() == Kind::Real; }
  [[nodiscard]] bool is_string() const { return kind() == Kind::String; }
  [[nodiscard]] bool is_array() const { return kind() == Kind::Array; }
  [[nodiscard]] bool is_object() const { return kind() == Kind::Object; }

  /// Errors: InvalidInput naming the kind found when the value is of another kind. as_int takes a
  /// Real only when it is whole and fits; as_double takes an Integer. A temporary gives its content
  /// away: a loop over parse(text).at("points").as_array() has something to stand on.
  [[nodiscard]] bool as_bool() const;
  [[nodiscard]] std::int64_t as_int() const;
  [[nodiscard]] double as_double() const;
  [[nodiscard]] const std::string& as_string() const&;
  [[nodiscard]] std::string as_string() &&;
  [[nodiscard]] const Array& as_array() const&;
  [[nodiscard]] Array& as_array() &;
  [[nodiscard]] Array as_array() &&;
  [[nodiscard]] const Object& as_object() const&;
  [[nodiscard]] Object& as_object() &;
  [[nodiscard]] Object as_object() &&;

  /// The member of that name, or null pointer when there is none or this is not an object.
  [[nodiscard]] const Json* find(std::string_view key) const;
  /// Errors: NotFound naming the key.
  [[nodiscard]] const Json& at(std::string_view key) const&;
  [[nodiscard]] Json at(std::string_view key) &&;
  /// Sets or replaces a member; a Null value becomes an object first. Returns *this.
  Json& set(std::string key, Json value);
  void push_back(Json value);

  /// Text of the value. indent < 0: one line. Numbers in their shortest exact form; a Real that is
  /// not finite is written as null, since JSON has no word for it.
  [[nodiscard]] std::string dump(int indent = -1) const;

  /// One line, keys sorted, whole Reals written as integers: equal meaning gives equal text.
  [[nodiscard]] std::string canonical() const;

  /// "a string", "an object", ... for messages.
  [[nodiscard]] std::string_view kind_name() const;

  /// Integer 1 equals Real 1.0; objects compare member by member in any order.
  friend bool operator==(const Json& a, const Json& b);

 private:
  std::variant<std::monostate, bool, std::int64_t, double, std::string, Array, Object> value_;
};

}  // namespace tunebench
