// operation: which operator goes over the space, and random_walk. ray_tune: ado_ray_tune.cpp.
#include <algorithm>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/plans/internal/ado_files.h"
#include "tunebench/plans/internal/ado_search.h"

namespace tunebench::plans {
namespace {

using config::MappingReader;
using config::YamlDocument;
using config::YamlNode;

const std::vector<std::string>& operators() {
  static const std::vector<std::string> kNames{"random_walk", "ray_tune"};
  return kNames;
}

/// Operators that ado or its packages have, and what does their job here.
std::string our_way(const std::string& name) {
  if (name == "profile" || name == "profile_space") {
    return "tunebench show tells about results";
  }
  if (name == "rifferla" || name == "trim") {
    return "search: {method: tpe} in a plan of tunebench finds good points with few measurements";
  }
  return did_you_mean(name, operators());
}

/// The operator by its name, or by the class that older files name.
const YamlNode* operator_of(MappingReader& module, std::string& name) {
  const YamlNode* node = module.take("operatorName");
  const YamlNode* class_node = module.take("moduleClass");
  const YamlNode* script = module.take("name");
  for (const char* key :
       {"operatorVersion", "version", "moduleName", "modulePath", "moduleType", "moduleFunction"}) {
    module.name(key);
  }
  if (node != nullptr && !node->is_null()) {
    name = node->text;
    return node;
  }
  if (class_node != nullptr && !class_node->is_null()) {
    name = class_node->text == "RandomWalk" ? "random_walk"
           : class_node->text == "RayTune"  ? "ray_tune"
                                            : class_node->text;
    return class_node;
  }
  if (script != nullptr && !script->is_null()) {
    module.wrong(*script, "scripts are not run", "name an operator: random_walk, ray_tune");
  }
  return nullptr;
}

void check_type(MappingReader& module) {
  const std::vector<std::string> words{"search", "explore", "characterize", "compare",
                                       "modify", "study",   "fuse",         "learn",
                                       "query",  "export",  "script"};
  const YamlNode* node = module.take("operationType");
  const std::optional<std::string> type = module.word("operationType", words);
  if (type && *type != "search" && *type != "explore") {
    module.wrong(*node,
                 fmt::format("operationType '{}' does not fit an operator that explores", *type),
                 "search, or explore in newer files");
  }
}

void check_spaces(MappingReader& reader) {
  const YamlNode* node = reader.require("spaces");
  if (node == nullptr) {
    return;
  }
  const std::vector<const YamlNode*> spaces = reader.list("spaces");
  if (node->is_sequence() && spaces.size() != 1) {
    reader.wrong(*node,
                 fmt::format("an operation goes over one space, and {} are named", spaces.size()));
  }
  for (const YamlNode* space : spaces) {
    if (!space->is_scalar()) {
      reader.wrong_type("spaces", *space, "a name");
    }
  }
}

void add_option(const MappingReader& reader, const YamlNode& at, const char* name,
                std::string value, PlanDocument& document) {
  document.options.push_back({name, reader.source().where(at.place), std::move(value)});
}

/// The walk's parameters.
class WalkReader {
 public:
  WalkReader(MappingReader& reader, const YamlNode& at, PlanDocument& document)
      : reader_(reader), at_(at), document_(document) {}

  void read() {
    read_count();
    const std::optional<std::int64_t> batch = reader_.integer("batchSize", 1);
    if (batch && !all_ && *batch > count_) {
      reader_.wrong(*reader_.take("batchSize"),
                    fmt::format("batchSize {} is more than numberEntities {}", *batch, count_));
    } else if (batch.value_or(1) > 1) {
      document_.notes.push_back("batchSize: points are measured one after the other");
    }
    if (!reader_.boolean("singleMeasurement").value_or(true)) {
      add_option(reader_, *reader_.take("singleMeasurement"), "fresh", "", document_);
    }
    if (reader_.integer("maxRetries", 0).value_or(0) > 0) {
      document_.notes.push_back(
          "maxRetries: what may end otherwise is tried three times in all, other failures never");
    }
    read_sampler();
    read_filter();
    reader_.finish();
    order_points();
  }

 private:
  void read_count() {
    const YamlNode* node = reader_.take("numberEntities");
    if (node != nullptr && node->is_scalar() && node->text == "all") {
      all_ = true;
      return;
    }
    if (node != nullptr && !node->is_null() && !node->value.is_int()) {
      reader_.wrong_type("numberEntities", *node, "a whole number of at least 1, or all");
      return;
    }
    count_ = reader_.integer("numberEntities", 1).value_or(1);
    const double size = points_of(document_);
    if (size > 0 && static_cast<double>(count_) > size) {
      reader_.wrong(*node,
                    fmt::format("numberEntities {} is more than the {} points of the space", count_,
                                shortest(size)),
                    "all");
    }
    all_ = static_cast<double>(count_) == size;
  }

  void read_sampler() {
    const YamlNode* node = reader_.take("samplerConfig");
    const bool nested = node != nullptr && !node->is_null();
    // Files of older versions have the keys one level up.
    bool flat = false;
    for (const char* key : {"mode", "grouping", "samplerType"}) {
      flat = reader_.take(key) != nullptr || flat;
    }
    if (nested && flat) {
      reader_.wrong(*node, "samplerConfig and its older flat keys are both given", "keep one");
    } else if (nested) {
      MappingReader sampler(reader_.source(), *node, "samplerConfig", reader_.problems());
      const YamlNode* module = sampler.take("module");
      sampler.take("parameters");
      if (module != nullptr) {
        sampler.wrong(*module, "custom samplers are code of ado and are not run",
                      "search: {method: lhs} or sobol in a plan of tunebench");
        return;
      }
      read_mode(sampler, *node);
      sampler.finish();
    } else {
      read_mode(reader_, flat ? *reader_.take("mode") : at_);
    }
  }

  void read_mode(MappingReader& sampler, const YamlNode& at) {
    const std::optional<std::string> type = sampler.word("samplerType", {"selector", "generator"});
    const YamlNode* type_node = sampler.take("samplerType");
    if (type.value_or("selector") == "selector" &&
        (type_node == nullptr || type || type_node->is_null())) {
      sampler.wrong(type_node == nullptr ? at : *type_node,
                    "samplerType 'selector' (ado's default) visits only points that a store holds "
                    "already; here the points of the space are measured",
                    "samplerType: generator");
    }
    mode_ = sampler.word("mode", {"random", "sequential", "randomgrouped", "sequentialgrouped"})
                .value_or("random");
    for (const YamlNode* name : sampler.texts("grouping")) {
      grouping_.push_back(name->text);
      check_dimension(sampler, *name, document_);
    }
    if (mode_.ends_with("grouped") && grouping_.empty()) {
      sampler.wrong(sampler.take("mode") == nullptr ? at : *sampler.take("mode"),
                    fmt::format("mode '{}' has no grouping", mode_),
                    "grouping: [model_name] keeps a model loaded");
    }
  }

  void read_filter() {
    const YamlNode* node = reader_.take("filter");
    if (node == nullptr || node->is_null()) {
      return;
    }
    MappingReader filter(reader_.source(), *node, "filter", reader_.problems());
    filter_ = filter.word("filterMode", {"noFilter", "measured", "unmeasured", "partial"})
                  .value_or("noFilter");
    filter.finish();
  }

  void order_points() {
    add_option(reader_, at_, "repeats", "1", document_);
    document_.search.where = reader_.source().where(at_.place);
    if (!all_) {
      document_.stop.points = count_;
      document_.stop.where = document_.search.where;
    }
    // What is known already is linked and not measured: over all points that is "unmeasured".
    const bool filtered = filter_ != "noFilter" && !(filter_ == "unmeasured" && all_);
    if (mode_ == "sequential" && !filtered) {
      return;
    }
    if (mode_ == "random" && !filtered && all_) {
      add_option(reader_, at_, "order", "random", document_);
      return;
    }
    document_.search.method = "random_walk";
    document_.search.parameters.set("mode", mode_);
    if (!grouping_.empty()) {
      Json names = Json::array();
      for (const std::string& name : grouping_) {
        names.push_back(name);
      }
      document_.search.parameters.set("grouping", std::move(names));
    }
    if (filtered) {
      document_.search.parameters.set("filter", filter_);
    }
  }

  MappingReader& reader_;
  const YamlNode& at_;
  PlanDocument& document_;
  bool all_ = false;
  std::int64_t count_ = 1;
  std::string mode_ = "random";
  std::vector<std::string> grouping_;
  std::string filter_ = "noFilter";
};

void read_operator(const YamlDocument& file, const YamlNode& node, PlanDocument& document,
                   Diagnostics& problems) {
  static const YamlNode kNoParameters{.kind = YamlNode::Kind::Mapping};
  MappingReader reader(*file.source, node, "operation", problems);
  const YamlNode* module_node = reader.require("module");
  const YamlNode* parameters = reader.take("parameters");
  reader.finish();
  if (module_node == nullptr) {
    return;
  }
  MappingReader module(*file.source, *module_node, "module", problems);
  std::string name;
  const std::size_t before = problems.size();
  const YamlNode* named = operator_of(module, name);
  check_type(module);
  module.finish();
  if (named == nullptr) {
    if (problems.size() == before) {
      module.wrong(*module_node, "'module' has no 'operatorName'");
    }
    return;
  }
  const YamlNode& given =
      parameters == nullptr || parameters->is_null() ? kNoParameters : *parameters;
  YamlNode at = given;
  at.place = parameters == nullptr ? node.place : parameters->place;
  if (name == "random_walk") {
    MappingReader walk(*file.source, at, "parameters", problems);
    WalkReader(walk, at, document).read();
  } else if (name == "ray_tune") {
    read_ray_tune(*file.source, at, document, problems);
  } else {
    module.wrong(*named, fmt::format("operator '{}' is not done here", excerpt(name)),
                 our_way(name));
  }
}

}  // namespace

double points_of(const PlanDocument& document) {
  double size = 1;
  for (const experiment::GivenValues& input : document.inputs) {
    size *= static_cast<double>(input.values.size());
  }
  // Of a space with mistakes the size is not known.
  return document.inputs.empty() ? 0 : size;
}

void check_dimension(MappingReader& reader, const YamlNode& name, const PlanDocument& document) {
  std::vector<std::string> dimensions;
  for (const experiment::GivenValues& input : document.inputs) {
    dimensions.push_back(input.property);
  }
  if (!dimensions.empty() && std::ranges::find(dimensions, name.text) == dimensions.end()) {
    reader.wrong(name, fmt::format("'{}' is no dimension of the space", excerpt(name.text)),
                 did_you_mean(name.text, dimensions));
  }
}

void read_ado_operation(const YamlDocument& file, PlanDocument& document, Diagnostics& problems) {
  MappingReader reader(*file.source, file.root, "operation", problems);
  check_spaces(reader);
  for (const YamlNode* name : reader.list("actuatorConfigurationIdentifiers")) {
    if (!name->is_scalar()) {
      reader.wrong_type("actuatorConfigurationIdentifiers", *name, "a name");
    }
  }
  read_ado_metadata(reader);
  const YamlNode* operation = reader.require("operation");
  reader.finish();
  if (operation != nullptr) {
    read_operator(file, *operation, document, problems);
  }
}

}  // namespace tunebench::plans
