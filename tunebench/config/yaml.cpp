#include "tunebench/config/yaml.h"

#include <algorithm>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include <fmt/core.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "tunebench/base/error.h"
#include "tunebench/base/files.h"
#include "tunebench/base/text.h"

namespace tunebench::config {
namespace {

Place place_of(const YAML::Mark& mark) {
  return mark.is_null() ? Place{1, 1} : Place{mark.line + 1, mark.column + 1};
}

/// Ends the parse: a mistake that leaves nothing to go on with.
struct Refused {
  Place place;
  std::string text;
  std::string hint = {};
};

/// A long text counts for more: aliases copy it.
std::size_t count_nodes(const YamlNode& node) {
  constexpr std::size_t kBytesOfAValue = 64;
  std::size_t count = 1 + node.text.size() / kBytesOfAValue;
  for (const YamlNode& item : node.items) {
    count += count_nodes(item);
  }
  for (const YamlMember& member : node.members) {
    count += 1 + member.key.size() / kBytesOfAValue + count_nodes(member.value);
  }
  return count;
}

std::size_t depth_of(const YamlNode& node) {
  std::size_t depth = 0;
  for (const YamlNode& item : node.items) {
    depth = std::max(depth, depth_of(item));
  }
  for (const YamlMember& member : node.members) {
    depth = std::max(depth, depth_of(member.value));
  }
  return depth + 1;
}

/// Makes nodes from the parser's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(const SourceText& source, const YamlBounds& bounds, Diagnostics& problems)
      : source_(source), bounds_(bounds), problems_(problems) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {
    root_.reset();
    open_.clear();
    anchors_.clear();
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node;
    node.place = place_of(mark);
    finish(std::move(node), anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      throw Refused{place_of(mark), "an alias stands inside what it names"};
    }
    count(count_nodes(found->second), place_of(mark));
    if (open_.size() + depth_of(found->second) > bounds_.depth) {
      throw Refused{place_of(mark), too_deep()};
    }
    YamlNode node = found->second;
    node.place = place_of(mark);
    add(std::move(node));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node;
    node.place = place_of(mark);
    node.text = value;
    node.quoted = tag == "!";
    node.value = scalar_value(tag, value, node.place);
    finish(std::move(node), anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    begin(YamlNode::Kind::Sequence, mark, tag, anchor);
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    begin(YamlNode::Kind::Mapping, mark, tag, anchor);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapEnd() override { end(); }

  std::optional<YamlNode> take() { return std::exchange(root_, std::nullopt); }

 private:
  /// A sequence or mapping whose end has not come.
  struct Open {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    std::optional<YamlNode> key;       ///< read, its value not yet
    std::map<std::string, int> lines;  ///< of the keys
  };

  [[nodiscard]] std::string too_deep() const {
    return fmt::format("nested deeper than {} levels", bounds_.depth);
  }

  void count(std::size_t nodes, Place place) {
    nodes_ += nodes;
    if (nodes_ > bounds_.nodes) {
      throw Refused{place,
                    fmt::format("more than {} values, aliases counted as what they stand for",
                                with_thousands(static_cast<std::int64_t>(bounds_.nodes)))};
    }
  }

  static Json scalar_value(const std::string& tag, const std::string& value, Place place) {
    constexpr std::string_view kCore = "tag:yaml.org,2002:";
    if (tag == "?" || tag.empty()) {
      return core_scalar(value);
    }
    if (tag == "!" || tag == std::string(kCore) + "str") {
      return Json(value);
    }
    Json read = core_scalar(value);
    if (tag == std::string(kCore) + "float" && read.is_number()) {
      return Json(read.as_double());
    }
    const bool fits = (tag == std::string(kCore) + "int" && read.is_int()) ||
                      (tag == std::string(kCore) + "bool" && read.is_bool()) ||
                      (tag == std::string(kCore) + "null" && read.is_null());
    if (!fits) {
      throw Refused{place, fmt::format("the tag '{}' is not understood here", excerpt(tag))};
    }
    return read;
  }

  void begin(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag,
             YAML::anchor_t anchor) {
    const Place place = place_of(mark);
    const char* usual = kind == YamlNode::Kind::Sequence ? "seq" : "map";
    if (!tag.empty() && tag != "?" && tag != "!" &&
        tag != std::string("tag:yaml.org,2002:") + usual) {
      throw Refused{place, fmt::format("the tag '{}' is not understood here", excerpt(tag))};
    }
    count(1, place);
    if (open_.size() >= bounds_.depth) {
      throw Refused{place, too_deep()};
    }
    Open open;
    open.node.kind = kind;
    open.node.place = place;
    open.anchor = anchor;
    open_.push_back(std::move(open));
  }

  void end() {
    Open open = std::move(open_.back());
    open_.pop_back();
    keep_anchor(open.anchor, open.node);
    add(std::move(open.node));
  }

  void finish(YamlNode node, YAML::anchor_t anchor) {
    count(1, node.place);
    keep_anchor(anchor, node);
    add(std::move(node));
  }

  void keep_anchor(YAML::anchor_t anchor, const YamlNode& node) {
    if (anchor != 0) {
      // What an anchor keeps is a copy and counts.
      count(count_nodes(node), node.place);
      anchors_[anchor] = node;
    }
  }

  void add(YamlNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& open = open_.back();
    if (open.node.is_sequence()) {
      open.node.items.push_back(std::move(node));
    } else if (!open.key) {
      open.key = std::move(node);
    } else {
      add_member(open, std::move(node));
    }
  }

  void add_member(Open& open, YamlNode value) {
    const YamlNode key = std::move(*open.key);
    open.key.reset();
    if (!key.is_scalar()) {
      problems_.push_back(source_.mistake(key.place, "a key must be a word"));
      return;
    }
    if (key.text == "<<" && !key.quoted) {
      problems_.push_back(source_.marked(key.place, 2, "merge keys are not read",
                                         "write the keys out, or use an alias for a whole value"));
      return;
    }
    const auto [first, added] = open.lines.emplace(key.text, key.place.line);
    constexpr int kMostDoubled = 50;
    if (!added && ++doubled_ > kMostDoubled) {
      throw Refused{key.place, "and further keys given twice"};
    }
    if (!added) {
      problems_.push_back(source_.marked(
          key.place, key.text.size(),
          fmt::format("'{}' is given twice, first in line {}", excerpt(key.text), first->second)));
      return;
    }
    open.node.members.push_back({key.text, key.place, std::move(value)});
  }

  const SourceText& source_;
  const YamlBounds& bounds_;
  Diagnostics& problems_;
  std::optional<YamlNode> root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  std::size_t nodes_ = 0;
  int doubled_ = 0;
};

/// The place of the first byte that is no UTF-8, or of a null byte, which would end the text.
std::optional<Place> broken_text(std::string_view text) {
  Place place{1, 1};
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_sequence_length(text.substr(at));
    if (length == 0 || text[at] == '\0') {
      return place;
    }
    place = text[at] == '\n' ? Place{place.line + 1, 1}
                             : Place{place.line, place.column + static_cast<int>(length)};
    at += length;
  }
  return std::nullopt;
}

constexpr int kMostDocuments = 1000;

/// The parser's columns count code points and a tab as one; messages count bytes up to there.
void parse_documents(const std::shared_ptr<const SourceText>& source, Diagnostics& problems,
                     const YamlBounds& bounds, std::vector<YamlDocument>& documents) {
  std::istringstream stream(source->text());
  YAML::Parser parser(stream);
  TreeBuilder builder(*source, bounds, problems);
  // yaml-cpp 0.7 finds documents without end in some broken texts: ",\n\tbat}i".
  int found = 0;
  while (parser.HandleNextDocument(builder)) {
    if (++found > kMostDocuments) {
      throw Refused{{1, 1}, fmt::format("more than {} documents", kMostDocuments)};
    }
    std::optional<YamlNode> root = builder.take();
    if (root && !root->is_null()) {
      documents.push_back({source, std::move(*root)});
    }
  }
}

}  // namespace

std::vector<YamlDocument> parse_yaml(std::string_view text, std::string_view name,
                                     Diagnostics& problems, const YamlBounds& bounds) {
  if (text.starts_with("\xEF\xBB\xBF")) {
    text.remove_prefix(3);
  }
  const auto source = std::make_shared<const SourceText>(std::string(name), std::string(text));
  if (text.size() > bounds.bytes) {
    problems.push_back({source->name(),
                        fmt::format("is {} long, more than the {} of a plan",
                                    format_bytes(static_cast<std::int64_t>(text.size())),
                                    format_bytes(static_cast<std::int64_t>(bounds.bytes))),
                        ""});
    return {};
  }
  if (const std::optional<Place> place = broken_text(text)) {
    problems.push_back(source->mistake(*place, "is no UTF-8 text"));
    return {};
  }
  const std::size_t before = problems.size();
  std::vector<YamlDocument> documents;
  try {
    parse_documents(source, problems, bounds, documents);
  } catch (const Refused& refused) {
    problems.push_back(source->mistake(refused.place, refused.text, refused.hint));
  } catch (const YAML::Exception& error) {
    problems.push_back(source->mistake(place_of(error.mark), "is no YAML: " + error.msg));
  }
  if (problems.size() > before) {
    return {};
  }
  return documents;
}

std::vector<YamlDocument> read_yaml(const std::string& file, Diagnostics& problems,
                                    const YamlBounds& bounds) {
  try {
    return parse_yaml(read_file(file), file, problems, bounds);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::Internal) {
      throw;
    }
    problems.push_back({"", error.message(), ""});
    return {};
  }
}

}  // namespace tunebench::config
