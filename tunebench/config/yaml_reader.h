#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/config/yaml.h"

namespace tunebench::config {

/// Reads the keys of one mapping. Each asked-for key is a known one; finish() refuses all others
/// with the nearest known one. Mistakes are collected and reading goes on.
class MappingReader {
 public:
  /// `what` names the mapping in messages: "search". A node of another kind is a mistake and reads
  /// as an empty mapping.
  MappingReader(const SourceText& source, const YamlNode& node, std::string_view what,
                Diagnostics& problems);

  [[nodiscard]] const SourceText& source() const { return source_; }
  [[nodiscard]] Diagnostics& problems() const { return problems_; }

  /// The value of the key, null included; nullptr when it is not there.
  const YamlNode* take(std::string_view key);
  /// The same; that it is missing or null is a mistake.
  const YamlNode* require(std::string_view key);

  // nullopt when the key is absent or null, or its value of another type, which is a mistake.
  std::optional<std::string> text(std::string_view key);
  /// Any scalar, as written: names that look like numbers.
  std::optional<std::string> name(std::string_view key);
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t lowest);
  std::optional<double> real(std::string_view key);
  /// true, false; also yes, no, on, off.
  std::optional<bool> boolean(std::string_view key);
  /// One of the words; a mistake names the nearest one.
  std::optional<std::string> word(std::string_view key, const std::vector<std::string>& words);
  /// The items of a list; a mistake when it is no list.
  std::vector<const YamlNode*> list(std::string_view key);
  /// Texts of a list, or of a single text.
  std::vector<const YamlNode*> texts(std::string_view key);

  /// A mistake of a value.
  void wrong(const YamlNode& value, std::string text, std::string hint = "");
  /// "'steps' is 'x' but must be a whole number"
  void wrong_type(std::string_view key, const YamlNode& value, std::string_view expected);

  /// Unknown keys; `kind` says what a key is: "key", "input".
  void finish(std::string_view kind = "key");
  /// The same with further candidates for the nearest word.
  void finish(std::string_view kind, const std::vector<std::string>& also);

 private:
  const SourceText& source_;
  const YamlNode& node_;
  std::string what_;
  Diagnostics& problems_;
  std::set<std::string, std::less<>> known_;
};

/// How a value is shown in messages: 'text', 4, a list.
std::string shown(const YamlNode& value);

/// true, false, yes, no, on, off.
std::optional<bool> boolean_of(const YamlNode& value);

}  // namespace tunebench::config
