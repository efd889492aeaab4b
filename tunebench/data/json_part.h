#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "tunebench/base/error.h"
#include "tunebench/base/json.h"

namespace tunebench::data {

/// An object inside a file, with the words to speak of it: "tokenizer.json: pre_tokenizer 'Split'".
class JsonPart {
 public:
  /// Errors: InvalidInput when `value` is not an object.
  JsonPart(const Json& value, std::string_view origin, std::string place);

  /// The member `type`. Errors: InvalidInput when it is absent or no string.
  [[nodiscard]] std::string type() const;
  /// This part with its type in its place.
  [[nodiscard]] JsonPart typed() const;
  /// Refuses every member that is not in the list, by name: nothing is skipped.
  void expect_only(std::initializer_list<std::string_view> keys) const;

  /// Absent and null give the fallback. Errors: InvalidInput for another kind.
  [[nodiscard]] bool flag(std::string_view key, bool fallback) const;
  [[nodiscard]] std::string string(std::string_view key, std::string_view fallback) const;
  /// Errors: InvalidInput when absent or of another kind.
  [[nodiscard]] bool flag(std::string_view key) const;
  [[nodiscard]] std::string string(std::string_view key) const;
  [[nodiscard]] std::int64_t integer(std::string_view key) const;
  [[nodiscard]] const Json::Array& array(std::string_view key) const;
  [[nodiscard]] const Json& member(std::string_view key) const;
  /// nullptr when absent or null.
  [[nodiscard]] const Json* find(std::string_view key) const;
  [[nodiscard]] JsonPart part(std::string_view key) const;
  /// `value` as a part that is called `place` of the same file.
  [[nodiscard]] JsonPart sibling(const Json& value, std::string place) const;

  [[noreturn]] void fail(ErrorCode code, std::string_view what) const;
  [[noreturn]] void fail(std::string_view what) const { fail(ErrorCode::InvalidInput, what); }
  [[nodiscard]] const Json& json() const { return *value_; }
  [[nodiscard]] const std::string& origin() const { return origin_; }

 private:
  [[noreturn]] void wrong_kind(std::string_view key, const Json& value,
                               std::string_view wanted) const;
  const Json* value_;
  std::string origin_;
  std::string place_;
};

}  // namespace tunebench::data
