// samplestore: what is to be imported, read and carried; importing is not done here.
#include <algorithm>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/plans/internal/ado_files.h"

namespace tunebench::plans {
namespace {

using config::MappingReader;
using config::YamlNode;

/// A list of names, or a mapping of names to columns.
std::vector<std::pair<std::string, std::string>> read_columns(MappingReader& reader,
                                                              std::string_view key) {
  std::vector<std::pair<std::string, std::string>> columns;
  const YamlNode* node = reader.take(key);
  if (node == nullptr || node->is_null()) {
    return columns;
  }
  if (!node->is_mapping()) {
    for (const YamlNode* item : reader.texts(key)) {
      columns.emplace_back(item->text, item->text);
    }
    return columns;
  }
  for (const config::YamlMember& member : node->members) {
    if (member.value.is_scalar() && !member.value.is_null()) {
      columns.emplace_back(member.key, member.value.text);
    } else {
      reader.wrong_type(member.key, member.value, "the name of a column");
    }
  }
  return columns;
}

ImportedExperiment read_imported(const YamlNode& node, MappingReader& list) {
  MappingReader reader(list.source(), node, "experiments", list.problems());
  ImportedExperiment imported;
  reader.require("experimentIdentifier");
  imported.experiment = reader.name("experimentIdentifier").value_or("");
  imported.actuator = reader.text("actuatorIdentifier").value_or("replay");
  imported.measured = read_columns(reader, "observedPropertyMap");
  for (auto& column : read_columns(reader, "propertyMap")) {  // its older name
    imported.measured.push_back(std::move(column));
  }
  imported.inputs = read_columns(reader, "constitutivePropertyMap");
  reader.word("propertyFormat", {"target", "observed"});
  reader.finish();
  return imported;
}

std::string read_module(MappingReader& reader, std::string_view key) {
  const YamlNode* node = reader.require(key);
  if (node == nullptr) {
    return "";
  }
  MappingReader module(reader.source(), *node, key, reader.problems());
  module.require("moduleClass");
  const std::string name = module.text("moduleClass").value_or("");
  for (const char* other : {"moduleName", "modulePath", "moduleType", "moduleFunction"}) {
    module.text(other);
  }
  module.finish();
  return name;
}

void read_copy(const YamlNode& node, MappingReader& store, PlanDocument& document) {
  MappingReader reader(store.source(), node, "copyFrom", store.problems());
  const std::string kind = read_module(reader, "module");
  reader.name("identifier");
  const YamlNode* location = reader.take("storageLocation");
  const YamlNode* parameters = reader.take("parameters");
  reader.finish();
  if (!kind.empty() && kind != "CSVSampleStore") {
    const std::vector<std::string> known{"CSVSampleStore"};
    reader.wrong(*reader.take("module"),
                 fmt::format("a copy from '{}' is not read here", excerpt(kind)),
                 did_you_mean(kind, known));
    return;
  }
  StoreImport import{.where = store.source().where(node.place)};
  if (location == nullptr || location->is_null()) {
    reader.wrong(node, "'copyFrom' has no 'storageLocation'");
  } else {
    MappingReader place(store.source(), *location, "storageLocation", store.problems());
    place.require("path");
    import.path = place.name("path").value_or("");
    place.finish();
  }
  if (parameters == nullptr || parameters->is_null()) {
    reader.wrong(node, "'copyFrom' has no 'parameters'");
    return;
  }
  MappingReader csv(store.source(), *parameters, "parameters", store.problems());
  csv.require("identifierColumn");
  import.identifier_column = csv.name("identifierColumn").value_or("");
  import.generator = csv.name("generatorIdentifier").value_or("");
  import.input_columns = read_columns(csv, "constitutivePropertyColumns");
  for (const YamlNode* one : csv.list("experiments")) {
    import.experiments.push_back(read_imported(*one, csv));
  }
  csv.finish();
  document.imports.push_back(std::move(import));
}

}  // namespace

void read_ado_store(const config::YamlDocument& file, PlanDocument& document,
                    Diagnostics& problems) {
  MappingReader reader(*file.source, file.root, "sample store", problems);
  read_ado_metadata(reader);
  if (const YamlNode* specification = reader.require("specification")) {
    MappingReader part(*file.source, *specification, "specification", problems);
    const std::string kind = read_module(part, "module");
    part.take("parameters");
    part.take("storageLocation");
    part.finish();
    if (!kind.empty() && kind != "SQLSampleStore") {
      const std::vector<std::string> known{"SQLSampleStore"};
      part.wrong(*specification, fmt::format("'{}' is no store that can be written", excerpt(kind)),
                 did_you_mean(kind, known));
    }
  }
  for (const YamlNode* item : reader.list("copyFrom")) {
    read_copy(*item, reader, document);
  }
  reader.finish();
}

}  // namespace tunebench::plans
