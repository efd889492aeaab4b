#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/json.h"

namespace tunebench::config {

/// A place in a file, both counted from 1; a column is a byte of the line.
struct Place {
  int line = 0;
  int column = 0;
};

struct YamlMember;

/// One value of a YAML document, with its place. Scalars follow the core schema of YAML 1.2:
/// null and ~ are null; true and false booleans; decimal, 0o17 and 0x1F integers; 1e-5 a number;
/// .inf and .nan numbers that no input takes. All else is text: yes, no, on, off, dates, 1_000, and
/// 010, which other programs take for 8. A quoted scalar is text whatever it holds.
struct YamlNode {
  enum class Kind { Scalar, Sequence, Mapping };
  Kind kind = Kind::Scalar;
  Json value;           ///< of a scalar
  std::string text;     ///< a scalar as written, without quotes
  bool quoted = false;  ///< the scalar is text because it was quoted
  Place place;
  std::vector<YamlNode> items;      ///< of a sequence
  std::vector<YamlMember> members;  ///< of a mapping, in the order of the file

  [[nodiscard]] bool is_scalar() const { return kind == Kind::Scalar; }
  [[nodiscard]] bool is_sequence() const { return kind == Kind::Sequence; }
  [[nodiscard]] bool is_mapping() const { return kind == Kind::Mapping; }
  [[nodiscard]] bool is_null() const { return is_scalar() && value.is_null(); }
  /// The value under that key; nullptr when there is none or this is no mapping.
  [[nodiscard]] const YamlNode* find(std::string_view key) const;
  /// "a text", "a list", ...
  [[nodiscard]] std::string_view kind_name() const;
  /// Without the places.
  [[nodiscard]] Json json() const;
};

struct YamlMember {
  std::string key;
  Place place;  ///< of the key
  YamlNode value;
};

/// The text of a file, for messages about its places.
class SourceText {
 public:
  SourceText(std::string name, std::string text);
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  /// "plan.yaml:9:5"
  [[nodiscard]] std::string where(Place place) const;
  /// A mistake in one line.
  [[nodiscard]] Diagnostic mistake(Place place, std::string text, std::string hint = "") const;
  /// A mistake with the line of the file below it and a mark under `width` columns.
  [[nodiscard]] Diagnostic marked(Place place, std::size_t width, std::string text,
                                  std::string hint = "") const;

 private:
  std::string name_;
  std::string text_;
  std::vector<std::size_t> starts_;  ///< of the lines
};

/// One document and the file that it stands in.
struct YamlDocument {
  std::shared_ptr<const SourceText> source;
  YamlNode root;
};

/// What a file may hold, so that none takes long or much memory.
struct YamlBounds {
  std::size_t bytes = std::size_t{1} << 20;
  std::size_t depth = 40;
  std::size_t nodes = 200'000;  ///< aliases count as what they stand for
};

/// The documents of a text; empty ones are left out. Refused, with file:line:column: what is no
/// YAML or no UTF-8, a key given twice (both lines are told), keys that are no text, merge keys,
/// tags other than those of the core schema, aliases of what they stand in, and what exceeds the
/// bounds. A file with mistakes in its form has no documents.
std::vector<YamlDocument> parse_yaml(std::string_view text, std::string_view name,
                                     Diagnostics& problems, const YamlBounds& bounds = {});
/// The same of a file. What keeps it from being read is a mistake, too.
std::vector<YamlDocument> read_yaml(const std::string& file, Diagnostics& problems,
                                    const YamlBounds& bounds = {});

/// A plain scalar as YAML 1.2's core schema reads it.
Json core_scalar(std::string_view text);
/// Text of a scalar that reads back as `value`: quoted where it would be taken for something else.
std::string yaml_scalar(const Json& value);

}  // namespace tunebench::config
