// discoveryspace: dimensions and experiments. Rules: docs/ado.md.
#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/experiment/property.h"
#include "tunebench/plans/internal/ado_files.h"
#include "tunebench/space/domain.h"

namespace tunebench::plans {
namespace {

using config::MappingReader;
using config::YamlDocument;
using config::YamlNode;
using experiment::Property;
using experiment::ValueType;

/// What ado demands of every space that has an SFTTrainer experiment.
const std::vector<std::string>& required_dimensions() {
  static const std::vector<std::string> kNames{"model_name", "model_max_length", "batch_size",
                                               "number_gpus"};
  return kNames;
}

std::optional<Decimal> decimal_at(MappingReader& reader, std::string_view key,
                                  const YamlNode& node) {
  const std::optional<Decimal> number =
      node.is_scalar() && node.value.is_number() ? parse_decimal(node.text) : std::nullopt;
  if (!number) {
    reader.wrong_type(key, node, "a number of at most 18 digits");
  }
  return number;
}

class SpaceReader {
 public:
  SpaceReader(const YamlDocument& file, PlanDocument& document, Diagnostics& problems)
      : file_(file), document_(document), problems_(problems) {}

  void read() {
    MappingReader reader(*file_.source, file_.root, "space", problems_);
    reader.name("sampleStoreIdentifier");
    read_ado_metadata(reader);
    const YamlNode* dimensions = reader.take("entitySpace");
    const std::vector<const YamlNode*> items = reader.list("entitySpace");
    if (!all_replay()) {
      for (const YamlNode* item : items) {
        read_dimension(*item);
      }
      if (dimensions == nullptr || dimensions->is_null()) {
        wrong(file_.root, "the space has no entitySpace");
      } else if (dimensions->is_sequence()) {
        check_missing(*dimensions);
      }
    }
    read_experiments(reader);
    reader.finish();
  }

 private:
  void wrong(const YamlNode& node, std::string text, std::string hint = "") {
    problems_.push_back(file_.source->mistake(node.place, std::move(text), std::move(hint)));
  }

  /// Such a space has dimensions of its own, and is refused for being one.
  [[nodiscard]] bool all_replay() const {
    const YamlNode* experiments = file_.root.find("experiments");
    return experiments != nullptr && !experiments->items.empty() &&
           std::ranges::all_of(experiments->items, [](const YamlNode& item) {
             const YamlNode* actuator = item.find("actuatorIdentifier");
             return actuator != nullptr && actuator->text == "replay";
           });
  }

  void read_dimension(const YamlNode& item) {
    MappingReader reader(*file_.source, item, "entitySpace", problems_);
    const YamlNode* identifier = reader.require("identifier");
    const YamlNode* domain = reader.take("propertyDomain");
    const YamlNode* type = reader.take("propertyType");
    if (type != nullptr && !type->is_null() && !type->text.starts_with("CONSTITUTIVE")) {
      wrong(*type, fmt::format("propertyType {} is no input of an experiment", shown(*type)));
    }
    reader.take("metadata");
    reader.finish();
    if (identifier == nullptr) {
      return;
    }
    const auto [first, added] = dimensions_.emplace(identifier->text, identifier->place.line);
    if (!added) {
      wrong(*identifier, fmt::format("dimension '{}' is given twice, first in line {}",
                                     excerpt(identifier->text), first->second));
      return;
    }
    const Property* property = experiment::find_property(identifier->text);
    if (property == nullptr || property->name != identifier->text) {
      problems_.push_back(file_.source->marked(
          identifier->place, display_width(identifier->text),
          fmt::format("redundant dimension '{}': no experiment has an input of that name",
                      excerpt(identifier->text)),
          did_you_mean(identifier->text, experiment::property_names())));
      return;
    }
    if (domain == nullptr || domain->is_null()) {
      wrong(*identifier, fmt::format("dimension '{}' has no propertyDomain", identifier->text));
      return;
    }
    read_domain(*property, *identifier, *domain);
  }

  /// propertyDomain, with the rules of ado and ours.
  void read_domain(const Property& property, const YamlNode& identifier, const YamlNode& node) {
    const std::size_t before = problems_.size();
    MappingReader reader(*file_.source, node, "propertyDomain", problems_);
    space::DomainText text;
    const YamlNode* values = reader.take("values");
    if (values != nullptr && !values->is_null()) {
      text.values = std::vector<Json>{};
      for (const YamlNode* value : reader.list("values")) {
        text.values->push_back(value->json());
      }
    }
    const YamlNode* interval = reader.take("interval");
    if (interval != nullptr && !interval->is_null()) {
      text.interval = decimal_at(reader, "interval", *interval);
    }
    read_range(reader, text);
    read_type(reader, text);
    read_probability(reader);
    reader.finish();
    if (problems_.size() > before) {
      return;
    }
    std::string problem;
    const std::optional<space::Domain> domain = space::Domain::make(text, problem);
    if (!domain) {
      wrong(node, fmt::format("dimension '{}': {}", property.name, problem));
    } else {
      add_members(property, identifier, node, values, *domain);
    }
  }

  void read_range(MappingReader& reader, space::DomainText& text) {
    const YamlNode* node = reader.take("domainRange");
    if (node == nullptr || node->is_null()) {
      return;
    }
    if (!node->is_sequence() || node->items.size() != 2) {
      reader.wrong_type("domainRange", *node, "a list of two numbers, the upper one excluded");
      return;
    }
    const std::optional<Decimal> lower = decimal_at(reader, "domainRange", node->items[0]);
    const std::optional<Decimal> upper = decimal_at(reader, "domainRange", node->items[1]);
    if (lower && upper) {
      text.range = {*lower, *upper};
    }
  }

  void read_type(MappingReader& reader, space::DomainText& text) {
    std::vector<std::string> names;
    for (const auto type : {space::VariableType::Continuous, space::VariableType::Discrete,
                            space::VariableType::Categorical, space::VariableType::OpenCategorical,
                            space::VariableType::Binary, space::VariableType::Unknown,
                            space::VariableType::Identifier}) {
      names.emplace_back(space::variable_type_name(type));
    }
    if (const std::optional<std::string> name = reader.word("variableType", names)) {
      text.type = space::find_variable_type(*name);
      // In a space it is a categorical one over its values.
      if (text.type == space::VariableType::OpenCategorical && text.values) {
        text.type = space::VariableType::Categorical;
      }
    }
  }

  /// Says how continuous values are drawn; the members of a finite domain are not drawn.
  void read_probability(MappingReader& reader) {
    const YamlNode* node = reader.take("probabilityFunction");
    if (node == nullptr || node->is_null()) {
      return;
    }
    MappingReader function(*file_.source, *node, "probabilityFunction", problems_);
    function.word("identifier", {"uniform", "normal"});
    function.take("parameters");
    function.finish();
  }

  void add_members(const Property& property, const YamlNode& identifier, const YamlNode& node,
                   const YamlNode* values, const space::Domain& domain) {
    std::vector<Json> members;
    const std::vector<Json> all = domain.members();
    if (all.empty()) {
      wrong(node, fmt::format("dimension '{}' has no end and cannot be counted", property.name),
            "give values, or a domainRange with an interval");
      return;
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      const YamlNode& at = values != nullptr && i < values->items.size() ? values->items[i] : node;
      if (std::optional<Json> value = checked(property, all[i], at)) {
        members.push_back(std::move(*value));
      } else if (values == nullptr) {
        return;  // of a range one mistake is enough
      }
    }
    if (members.size() == all.size()) {
      document_.inputs.push_back(
          {property.name, std::move(members), file_.source->where(identifier.place)});
    }
  }

  /// ado takes 1 and 0 for true and false.
  std::optional<Json> checked(const Property& property, Json value, const YamlNode& at) {
    if (property.type == ValueType::Boolean && value.is_int() &&
        (value.as_int() == 0 || value.as_int() == 1)) {
      value = Json(value.as_int() == 1);
    }
    return experiment::check_value(property, value, file_.source->where(at.place), problems_);
  }

  void check_missing(const YamlNode& at) {
    std::vector<std::string> given;
    for (const auto& [name, line] : dimensions_) {
      given.push_back(name);
    }
    for (const std::string& name : required_dimensions()) {
      if (!dimensions_.contains(name)) {
        const std::string near = nearest_word(name, given).value_or("");
        const bool misspelt = !near.empty() && experiment::find_property(near) == nullptr;
        wrong(at,
              fmt::format("the space has no dimension '{}', which SFTTrainer's experiments need",
                          name),
              misspelt ? fmt::format("is it '{}'?", near) : "");
      }
    }
  }

  void read_experiments(MappingReader& reader) {
    const YamlNode* node = reader.take("experiments");
    if (node == nullptr || node->is_null()) {
      wrong(file_.root, "the space has no experiments", "name what is measured");
      return;
    }
    if (node->is_mapping()) {
      wrong(*node, "experiments is a mapping of full definitions",
            "refer to an experiment by actuatorIdentifier and experimentIdentifier");
      return;
    }
    for (const YamlNode* item : reader.list("experiments")) {
      read_experiment(*item);
    }
    if (node->is_sequence() && node->items.empty()) {
      wrong(*node, "the space has no experiments", "name what is measured");
    }
  }

  bool check_actuator(const YamlNode& actuator) {
    if (actuator.text == "SFTTrainer") {
      return true;
    }
    if (actuator.text == "replay") {
      wrong(actuator,
            "actuator 'replay' plays back what was imported; nothing of it can be measured",
            "import the file, then look at it with tunebench show and export");
    } else {
      const std::vector<std::string> known{"SFTTrainer", "replay"};
      wrong(actuator, fmt::format("actuator '{}' is not built in", excerpt(actuator.text)),
            nearest_word(actuator.text, known) ? did_you_mean(actuator.text, known)
                                               : "SFTTrainer is");
    }
    return false;
  }

  void read_experiment(const YamlNode& item) {
    MappingReader reader(*file_.source, item, "experiments", problems_);
    const YamlNode* actuator = reader.require("actuatorIdentifier");
    const YamlNode* identifier = reader.require("experimentIdentifier");
    const YamlNode* version = reader.take("experimentVersion");
    space::ExperimentChoice choice;
    read_parameterization(reader, choice);
    reader.finish();
    if (actuator == nullptr || identifier == nullptr || !check_actuator(*actuator)) {
      return;
    }
    if (version != nullptr && !version->is_null()) {
      wrong(*version, "SFTTrainer's experiments have no experimentVersion", "leave it out");
    }
    std::vector<std::string> names;
    for (const experiment::Experiment& one : experiment::experiments()) {
      names.push_back(one.id);
      if (one.id == identifier->text) {
        choice.experiment = &one;
      }
    }
    if (choice.experiment == nullptr) {
      wrong(*identifier, fmt::format("unknown experiment '{}'", excerpt(identifier->text)),
            did_you_mean(identifier->text, names));
      return;
    }
    if (!choice.experiment->runnable) {
      wrong(*identifier, fmt::format("{} cannot be run by this version", choice.experiment->id),
            "tunebench experiments lists those that can");
    }
    document_.experiments.push_back(std::move(choice));
  }

  void read_parameterization(MappingReader& reader, space::ExperimentChoice& choice) {
    std::map<std::string, int> seen;
    for (const YamlNode* item : reader.list("parameterization")) {
      MappingReader one(*file_.source, *item, "parameterization", problems_);
      const YamlNode* property_node = one.require("property");
      const YamlNode* value = one.take("value");
      one.take("valueType");
      one.take("uncertainty");
      one.finish();
      if (property_node == nullptr) {
        continue;
      }
      MappingReader property_reader(*file_.source, *property_node, "property", problems_);
      const YamlNode* identifier = property_reader.require("identifier");
      property_reader.take("metadata");
      property_reader.take("propertyType");
      property_reader.finish();
      if (identifier == nullptr) {
        continue;
      }
      if (value == nullptr) {
        wrong(*identifier, fmt::format("parameter '{}' has no value", excerpt(identifier->text)));
        continue;
      }
      add_parameter(*identifier, *value, seen, choice);
    }
  }

  void add_parameter(const YamlNode& identifier, const YamlNode& value,
                     std::map<std::string, int>& seen, space::ExperimentChoice& choice) {
    const Property* property = experiment::find_property(identifier.text);
    const auto [first, added] = seen.emplace(identifier.text, identifier.place.line);
    if (property == nullptr || property->name != identifier.text) {
      problems_.push_back(
          file_.source->marked(identifier.place, display_width(identifier.text),
                               fmt::format("unknown parameter '{}'", excerpt(identifier.text)),
                               did_you_mean(identifier.text, experiment::property_names())));
    } else if (!added) {
      wrong(identifier, fmt::format("parameter '{}' is given twice, first in line {}",
                                    property->name, first->second));
    } else if (std::ranges::find(required_dimensions(), property->name) !=
               required_dimensions().end()) {
      wrong(identifier, fmt::format("'{}' is no optional input", property->name),
            "make it a dimension of entitySpace");
    } else if (std::optional<Json> read = checked(*property, value.json(), value)) {
      choice.given.push_back(
          {property->name, {std::move(*read)}, file_.source->where(identifier.place)});
    }
  }

  const YamlDocument& file_;
  PlanDocument& document_;
  Diagnostics& problems_;
  std::map<std::string, int> dimensions_;  ///< and their lines
};

}  // namespace

void read_ado_space(const YamlDocument& file, PlanDocument& document, Diagnostics& problems) {
  SpaceReader(file, document, problems).read();
}

}  // namespace tunebench::plans
