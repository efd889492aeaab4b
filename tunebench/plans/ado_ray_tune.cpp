// ray_tune: search algorithms and what they look for.
#include <algorithm>

#include <fmt/core.h>

#include "tunebench/base/text.h"
#include "tunebench/plans/internal/ado_search.h"
#include "tunebench/plans/internal/plan_sections.h"
#include "tunebench/record/record.h"

namespace tunebench::plans {
namespace {

using config::MappingReader;
using config::YamlNode;

/// A search algorithm of Ray Tune: the method of ours that is of its kind, or that does its job.
struct Algorithm {
  std::string name;
  std::string method;  ///< empty: refused
  std::string instead;
};

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> kAlgorithms{{"variant_generator", "random", ""},
                                                  {"optuna", "tpe", ""},
                                                  {"hyperopt", "tpe", ""},
                                                  {"bayesopt", "gp", ""},
                                                  {"ax", "gp", ""},
                                                  {"lhu_sampler", "lhs", ""},
                                                  {"hebo", "", "gp"},
                                                  {"bohb", "", "halving or tpe"},
                                                  {"nevergrad", "", "tpe"},
                                                  {"zoopt", "", "tpe"}};
  return kAlgorithms;
}

/// Samplers of optuna.
const std::vector<Algorithm>& optuna_samplers() {
  static const std::vector<Algorithm> kSamplers{
      {"TPESampler", "tpe", ""},        {"GPSampler", "gp", ""},
      {"RandomSampler", "random", ""},  {"QMCSampler", "sobol", ""},
      {"CmaEsSampler", "", "tpe"},      {"NSGAIISampler", "", "tpe"},
      {"NSGAIIISampler", "", "tpe"},    {"GridSampler", "grid", ""},
      {"BruteForceSampler", "grid", ""}};
  return kSamplers;
}

const Algorithm* find_algorithm(MappingReader& reader, const YamlNode& node,
                                const std::vector<Algorithm>& list, std::string_view what) {
  std::vector<std::string> names;
  for (const Algorithm& one : list) {
    names.push_back(one.name);
    if (one.name == node.text && !one.method.empty()) {
      return &one;
    }
    if (one.name == node.text) {
      reader.wrong(node, fmt::format("{} '{}' is not done here", what, one.name),
                   fmt::format("search: {{method: {}}} in a plan of tunebench", one.instead));
      return nullptr;
    }
  }
  reader.wrong(node, fmt::format("unknown {} '{}'", what, excerpt(node.text)),
               did_you_mean(node.text, names));
  return nullptr;
}

class TuneReader {
 public:
  TuneReader(const config::SourceText& source, PlanDocument& document, Diagnostics& problems)
      : source_(source), document_(document), problems_(problems) {}

  void read(const YamlNode& parameters) {
    document_.search.where = source_.where(parameters.place);
    document_.stop.where = document_.search.where;
    document_.options.push_back({"repeats", document_.search.where, "1"});
    MappingReader reader(source_, parameters, "parameters", problems_);
    if (const YamlNode* tune = reader.require("tuneConfig")) {
      read_tune(*tune);
    }
    const YamlNode* runtime = reader.take("runtimeConfig");
    if (runtime != nullptr && !runtime->is_null()) {
      read_runtime(*runtime);
    }
    const YamlNode* orchestrator = reader.take("orchestratorConfig");
    if (orchestrator != nullptr && !orchestrator->is_null()) {
      read_orchestrator(*orchestrator);
    }
    reader.finish();
  }

 private:
  void read_tune(const YamlNode& node) {
    MappingReader tune(source_, node, "tuneConfig", problems_);
    const YamlNode* metric = tune.require("metric");
    const std::optional<std::string> mode = tune.word("mode", {"min", "max"});
    std::vector<const YamlNode*> metrics;
    if (metric != nullptr) {
      metrics = tune.texts("metric");
    }
    for (const YamlNode* one : metrics) {
      const std::string field = metric_of(tune, *one, document_);
      if (!field.empty()) {
        document_.search.objectives.push_back({field, mode.value_or("min") == "max"});
      }
    }
    document_.stop.points = tune.integer("num_samples", 1).value_or(1);
    if (tune.integer("max_concurrent_trials", 1).value_or(1) > 1) {
      document_.notes.push_back("max_concurrent_trials: points are measured one after the other");
    }
    if (const std::optional<double> budget = tune.real("time_budget_s")) {
      document_.stop.time_s = *budget;
    }
    const YamlNode* algorithm = tune.take("search_alg");
    if (algorithm == nullptr || algorithm->is_null()) {
      document_.search.method = "random";
    } else {
      read_algorithm(*algorithm);
    }
    // Further keys go to Ray, which is not here.
    tune.finish("key of tuneConfig");
  }

  void read_algorithm(const YamlNode& node) {
    MappingReader reader(source_, node, "search_alg", problems_);
    const YamlNode* name = reader.require("name");
    const YamlNode* params = reader.take("params");
    reader.finish();
    const Algorithm* algorithm =
        name == nullptr ? nullptr : find_algorithm(reader, *name, algorithms(), "search algorithm");
    if (algorithm == nullptr) {
      return;
    }
    document_.search.method = algorithm->method;
    if (params != nullptr && !params->is_null()) {
      MappingReader parameters(source_, *params, "params", problems_);
      read_first(parameters);
      if (algorithm->name == "optuna") {
        read_sampler(parameters);
      }
      if (const std::optional<std::int64_t> seed =
              parameters.integer(algorithm->name == "hyperopt" ? "random_state_seed" : "seed", 0)) {
        document_.search.parameters.set("seed", *seed);
      }
      parameters.finish(fmt::format("parameter of '{}'", algorithm->name));
    }
  }

  void read_sampler(MappingReader& parameters) {
    const YamlNode* sampler = parameters.take("sampler");
    if (sampler != nullptr && !sampler->is_null()) {
      const Algorithm* found =
          find_algorithm(parameters, *sampler, optuna_samplers(), "sampler of optuna");
      document_.search.method = found == nullptr ? document_.search.method : found->method;
    }
    const YamlNode* node = parameters.take("sampler_parameters");
    if (node != nullptr && !node->is_null()) {
      MappingReader own(source_, *node, "sampler_parameters", problems_);
      if (const std::optional<std::int64_t> seed = own.integer("seed", 0)) {
        document_.search.parameters.set("seed", *seed);
      }
      if (const std::optional<std::int64_t> startup = own.integer("n_startup_trials", 1)) {
        document_.search.parameters.set("startup", *startup);
      }
      own.finish("parameter of the sampler");
    }
  }

  void read_first(MappingReader& parameters) {
    const std::vector<const YamlNode*> points = parameters.list("points_to_evaluate");
    for (const YamlNode* point : points) {
      for (const config::YamlMember& member : point->members) {
        YamlNode name;
        name.text = member.key;
        name.place = member.place;
        check_dimension(parameters, name, document_);
      }
      read_inputs(source_, *point, problems_);
    }
    if (!points.empty()) {
      document_.search.parameters.set("first", parameters.take("points_to_evaluate")->json());
    }
  }

  void read_runtime(const YamlNode& node) {
    MappingReader runtime(source_, node, "runtimeConfig", problems_);
    read_stoppers(runtime, document_);
    for (const char* key : {"storage_path", "name", "verbose", "log_to_file"}) {
      if (runtime.take(key) != nullptr) {
        document_.notes.push_back(fmt::format("runtimeConfig {}: Ray is not used", key));
      }
    }
    runtime.finish();
  }

  void read_orchestrator(const YamlNode& node) {
    MappingReader reader(source_, node, "orchestratorConfig", problems_);
    if (!reader.boolean("single_measurement_per_property").value_or(true)) {
      document_.options.push_back({"fresh", source_.where(node.place), ""});
    }
    reader.word("metric_format", {"target", "observed"});
    for (const char* key : {"failed_metric_value", "result_dump"}) {
      const YamlNode* value = reader.take(key);
      if (value != nullptr && !value->is_null() && value->text != "none") {
        document_.notes.push_back(
            std::string(key) +
            ": a failed point counts as worse than every other one, whatever it says");
      }
    }
    reader.finish();
  }

  const config::SourceText& source_;
  PlanDocument& document_;
  Diagnostics& problems_;
};

/// What ado can measure in the space's experiments, for the nearest word.
std::vector<std::string> target_names(const PlanDocument& document) {
  std::vector<std::string> names;
  for (const space::ExperimentChoice& choice : document.experiments) {
    for (const std::string& name : choice.experiment->measured) {
      if (std::ranges::find(names, name) == names.end()) {
        names.push_back(name);
      }
    }
  }
  for (const record::Field& field : record::fields()) {
    names.push_back(field.name);
  }
  return names;
}

}  // namespace

std::string metric_of(MappingReader& reader, const YamlNode& node, const PlanDocument& document) {
  std::string_view name = node.text;
  // An aggregate of several results: a table has one number per point anyway.
  for (const std::string_view suffix : {"-mean", "-median", "-min", "-max"}) {
    if (name.ends_with(suffix)) {
      name.remove_suffix(suffix.size());
      break;
    }
  }
  for (const space::ExperimentChoice& choice : document.experiments) {
    if (name.starts_with(choice.experiment->id + "-")) {
      name = name.substr(name.rfind('-') + 1);
      break;
    }
  }
  const record::Field* field = record::find_field(name);
  if (field != nullptr &&
      (field->type == record::FieldType::Integer || field->type == record::FieldType::Real)) {
    return std::string(name);
  }
  reader.wrong(node, fmt::format("unknown metric '{}'", excerpt(node.text)),
               did_you_mean(name, target_names(document)));
  return "";
}

void read_ray_tune(const config::SourceText& source, const YamlNode& parameters,
                   PlanDocument& document, Diagnostics& problems) {
  TuneReader(source, document, problems).read(parameters);
}

}  // namespace tunebench::plans
