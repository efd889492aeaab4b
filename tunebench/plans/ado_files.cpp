// Which document of the reference system is which, and how they go together.
#include "tunebench/plans/internal/ado_files.h"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "tunebench/base/text.h"

namespace tunebench::plans {
namespace {

using config::MappingReader;
using config::YamlDocument;
using config::YamlNode;

struct Shape {
  AdoKind kind;
  const char* name;
  std::vector<std::string> keys;  ///< that no other kind has
};

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> kShapes{
      {AdoKind::Space, "a space", {"sampleStoreIdentifier", "entitySpace"}},
      {AdoKind::Operation,
       "an operation",
       {"spaces", "operation", "actuatorConfigurationIdentifiers"}},
      {AdoKind::ActuatorConfiguration,
       "an actuator configuration",
       {"actuatorIdentifier", "parameters"}},
      {AdoKind::SampleStore, "a sample store", {"specification", "copyFrom"}}};
  return kShapes;
}

/// Experiments as ado writes them.
bool names_an_actuator(const YamlNode& root) {
  const YamlNode* experiments = root.find("experiments");
  if (experiments == nullptr) {
    return false;
  }
  const std::vector<std::string> keys{"actuatorIdentifier", "experimentIdentifier"};
  return std::ranges::any_of(experiments->items, [&](const YamlNode& item) {
    return std::ranges::any_of(item.members, [&](const config::YamlMember& member) {
      // "experiment" begins like one of them and is ours.
      return member.key.size() > 10 && nearest_word(member.key, keys).has_value();
    });
  });
}

const char* kind_name(AdoKind kind) {
  const auto found = std::ranges::find(shapes(), kind, &Shape::kind);
  return found == shapes().end() ? "" : found->name;
}

/// Two documents of a kind are a mistake.
class Parts {
 public:
  Parts(const std::vector<YamlDocument>& documents, Diagnostics& problems) {
    for (const YamlDocument& document : documents) {
      const AdoKind kind = ado_kind(document.root);
      if (const YamlDocument* first = find(kind)) {
        problems.push_back(document.source->mistake(
            document.root.place, fmt::format("{} is given twice, first in {}", kind_name(kind),
                                             first->source->where(first->root.place))));
      } else {
        parts_.emplace_back(kind, &document);
      }
    }
  }
  [[nodiscard]] const YamlDocument* find(AdoKind kind) const {
    for (const auto& [one, document] : parts_) {
      if (one == kind) {
        return document;
      }
    }
    return nullptr;
  }

 private:
  std::vector<std::pair<AdoKind, const YamlDocument*>> parts_;
};

}  // namespace

AdoKind ado_kind(const YamlNode& root) {
  AdoKind best = AdoKind::None;
  int most = 0;
  for (const Shape& shape : shapes()) {
    int score = 0;
    for (const config::YamlMember& member : root.members) {
      // A key that is there counts more than one that is nearly there.
      if (std::ranges::find(shape.keys, member.key) != shape.keys.end()) {
        score += 2;
      } else if (member.key.size() > 5 && nearest_word(member.key, shape.keys)) {
        score += 1;
      }
    }
    if (score > most) {
      most = score;
      best = shape.kind;
    }
  }
  return most == 0 && names_an_actuator(root) ? AdoKind::Space : best;
}

void read_ado_metadata(MappingReader& reader) {
  const YamlNode* metadata = reader.take("metadata");
  if (metadata == nullptr || metadata->is_null()) {
    return;
  }
  if (!metadata->is_mapping()) {
    reader.wrong_type("metadata", *metadata, "a mapping of keys");
    return;
  }
  for (const char* key : {"name", "description"}) {
    const YamlNode* value = metadata->find(key);
    if (value != nullptr && !value->is_scalar()) {
      reader.wrong_type(key, *value, "a text");
    }
  }
  const YamlNode* labels = metadata->find("labels");
  if (labels != nullptr && !labels->is_mapping() && !labels->is_null()) {
    reader.wrong_type("labels", *labels, "a mapping of texts");
  }
}

PlanDocument read_ado(const std::vector<YamlDocument>& documents, Diagnostics& problems) {
  PlanDocument document;
  const Parts parts(documents, problems);
  document.keep_invalid = true;
  if (const YamlDocument* space = parts.find(AdoKind::Space)) {
    read_ado_space(*space, document, problems);
  } else if (documents.size() == 1 && parts.find(AdoKind::SampleStore) != nullptr) {
    read_ado_store(*parts.find(AdoKind::SampleStore), document, problems);
    return document;
  } else {
    problems.push_back(documents[0].source->mistake(
        documents[0].root.place,
        fmt::format("{} is given without a space", kind_name(ado_kind(documents[0].root))),
        "give the space's file, too"));
  }
  if (const YamlDocument* operation = parts.find(AdoKind::Operation)) {
    read_ado_operation(*operation, document, problems);
  } else {
    // One measurement of each point is what an operation makes.
    document.notes.push_back("no operation is given: every point of the space is measured");
  }
  if (const YamlDocument* actuator = parts.find(AdoKind::ActuatorConfiguration)) {
    read_ado_actuator(*actuator, document, problems);
  }
  if (const YamlDocument* store = parts.find(AdoKind::SampleStore)) {
    read_ado_store(*store, document, problems);
  }
  return document;
}

}  // namespace tunebench::plans
