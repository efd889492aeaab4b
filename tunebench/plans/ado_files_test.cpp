// The examples of the specification with the meaning stated there, and what is refused.
#include <filesystem>
#include <fstream>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/base/files.h"
#include "tunebench/base/text.h"
#include "tunebench/plans/plan_document.h"
#include "tunebench/plans/test_options.h"

namespace tunebench::plans {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

/// What texts given together come to.
struct Together {
  PlanDocument document;
  campaign::Request request;
  std::optional<space::Space> space;
  std::vector<std::string> problems;

  [[nodiscard]] std::string option(std::string_view name) const {
    for (const config::GivenOption& one : document.options) {
      if (one.name == name) {
        return one.value.empty() ? "true" : one.value;
      }
    }
    return "";
  }
};

Together read_texts(const std::vector<std::pair<std::string, std::string>>& files) {
  Together result;
  Diagnostics problems;
  std::vector<config::YamlDocument> documents;
  for (const auto& [name, text] : files) {
    std::ranges::move(config::parse_yaml(text, name, problems), std::back_inserter(documents));
  }
  if (problems.empty()) {
    result.document = read_documents(documents, test_options(), problems);
  }
  apply(result.document, result.request);
  if (problems.empty() && !result.document.experiments.empty()) {
    result.space = campaign::space_of(result.request, problems);
  }
  for (const Diagnostic& problem : problems) {
    result.problems.push_back(problem.text_block());
  }
  return result;
}

std::string file(const std::string& name) {
  return read_file(std::filesystem::path(TB_ADO_FILES) / name);
}

Together read_files(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const std::string& name : names) {
    files.emplace_back(name, file(name));
  }
  return read_texts(files);
}

std::string title(const Together& read, std::uint64_t index) {
  const experiment::Point point = read.space->point(index);
  return fmt::format("{}", point.integer("model_max_length")) + "," +
         std::to_string(point.integer("batch_size"));
}

TEST(AdoFiles, KindsShowByTheirKeys) {
  // Example 16.1 in any order.
  const Together read =
      read_files({"sweep-operation.yaml", "actuatorconfiguration.yaml", "sweep-space.yaml"});
  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_EQ(read.space->size(), 12U);
}

TEST(AdoFiles, SweepOfEveryPoint) {
  const Together read = read_files({"sweep-space.yaml", "sweep-operation.yaml"});
  ASSERT_THAT(read.problems, IsEmpty());
  ASSERT_EQ(read.space->size(), 12U) << "4, 8, 12, 16: 17 is excluded";
  EXPECT_EQ(title(read, 0), "512,4");
  EXPECT_EQ(title(read, 1), "512,8");
  EXPECT_EQ(title(read, 4), "1024,4");
  EXPECT_EQ(title(read, 11), "2048,16");
  const experiment::Point first = read.space->point(std::uint64_t{0});
  EXPECT_EQ(first.experiment, "finetune_full_benchmark-v1.0.0");
  EXPECT_EQ(first.text("model_name"), "smollm2-135m");
  EXPECT_EQ(first.integer("number_gpus"), 1);
  EXPECT_EQ(first.real("stop_after_seconds"), 30);
  EXPECT_EQ(read.option("repeats"), "1");
  EXPECT_EQ(read.option("fresh"), "") << "singleMeasurement: known points are reused";
  EXPECT_EQ(read.document.search.method, "grid");
  EXPECT_EQ(read.document.stop.points, std::nullopt);
  EXPECT_TRUE(read.document.keep_invalid);
}

TEST(AdoFiles, SeveralParameterisationsOfOneExperiment) {
  const Together read = read_files({"variants-space.yaml", "variants-operation.yaml"});
  ASSERT_THAT(read.problems, IsEmpty());
  ASSERT_EQ(read.space->size(), 4U) << "2 points x 2 experiments";
  std::vector<std::string> order;
  for (std::uint64_t i = 0; i < 4; ++i) {
    order.push_back(title(read, i) + "," + read.space->point(i).text("optim"));
  }
  EXPECT_THAT(order, ElementsAre("1024,8,adamw_torch", "1024,8,adamw_torch_fused",
                                 "1024,16,adamw_torch", "1024,16,adamw_torch_fused"));
  EXPECT_EQ(read.space->point(std::uint64_t{0}).integer("max_steps"), 20);
  EXPECT_EQ(read.option("fresh"), "true") << "singleMeasurement: false";
}

TEST(AdoFiles, AParameterMayHaveItsDefault) {
  // 16.2, item 8: ado refuses it.
  std::string text = file("variants-space.yaml");
  text.replace(text.find("adamw_torch_fused"), 17, "adamw_torch");
  const Together read = read_texts({{"s.yaml", text}});
  EXPECT_THAT(read.problems, IsEmpty());
  EXPECT_EQ(read.space->size(), 2U) << "both experiments are the same one";
}

TEST(AdoFiles, ImportedSpacesCannotBeMeasured) {
  EXPECT_THAT(read_files({"history-space.yaml", "history-walk.yaml"}).problems,
              Contains(HasSubstr("history-space.yaml:9:26: actuator 'replay' plays back")));
  const Together store = read_files({"history-store.yaml"});
  EXPECT_THAT(store.problems, IsEmpty());
  ASSERT_EQ(store.document.imports.size(), 1U);
  const StoreImport& import = store.document.imports[0];
  EXPECT_EQ(import.path, "history.csv");
  EXPECT_EQ(import.identifier_column, "run");
  EXPECT_EQ(import.generator, "lab-history");
  EXPECT_EQ(import.input_columns.size(), 3U);
  EXPECT_EQ(import.experiments[0].experiment, "historic_finetune");
  EXPECT_EQ(import.experiments[0].actuator, "replay");
  EXPECT_EQ(import.experiments[0].measured[1].second, "peak_gib");
}

TEST(AdoFiles, SeveralDocumentsInAFile) {
  const Together read = read_files({"history.yaml"});
  EXPECT_THAT(read.problems, Contains(StartsWith("history.yaml:35:1: an operation is given twice, "
                                                 "first in history.yaml:27:1")));
  const Together joined = read_texts(
      {{"both.yaml", file("sweep-space.yaml") + "---\n" + file("sweep-operation.yaml")}});
  EXPECT_THAT(joined.problems, IsEmpty());
  EXPECT_EQ(joined.space->size(), 12U);
}

TEST(AdoFiles, TheTuneOperation) {
  std::string space = file("sweep-space.yaml");
  std::string tune = file("history-tune.yaml");
  for (std::size_t at = tune.find("tokens_per_second"); at != std::string::npos;
       at = tune.find("tokens_per_second", at + 30)) {
    tune.replace(at, 17, "dataset_tokens_per_second");
  }
  const Together read = read_texts({{"s.yaml", space}, {"tune.yaml", tune}});
  ASSERT_THAT(read.problems, IsEmpty());
  EXPECT_EQ(read.document.search.method, "random") << "variant_generator";
  EXPECT_EQ(read.document.search.objectives[0].metric, "dataset_tokens_per_second");
  EXPECT_TRUE(read.document.search.objectives[0].maximize);
  EXPECT_EQ(read.document.stop.points, 5) << "MaxSamplesStopper, below num_samples";
  ASSERT_EQ(read.document.stop.stoppers.size(), 1U);
  EXPECT_EQ(read.document.stop.stoppers[0].name, "SimpleStopper");
  EXPECT_EQ(read.document.stop.stoppers[0].parameters.at("min_trials"), Json(100));
}

TEST(AdoFiles, NewerLayout) {
  const Together lora = read_files({"lora-space.yaml", "explore-operation.yaml"});
  ASSERT_THAT(lora.problems, IsEmpty());
  EXPECT_EQ(lora.document.experiments[0].experiment->method, "lora");
  std::string text = file("lora-space.yaml");
  text.replace(text.find("finetune_lora"), 13, "finetune_gptq-lora");
  EXPECT_THAT(read_texts({{"s.yaml", text}, {"o.yaml", file("explore-operation.yaml")}}).problems,
              ElementsAre(HasSubstr("s.yaml:8:27: finetune_gptq-lora_benchmark-v1.0.0 cannot be "
                                    "run by this version")))
      << "refused by name";
  text = file("lora-space.yaml");
  text.replace(text.find("finetune_lora"), 13, "finetune_full");
  const Together read = read_texts({{"s.yaml", text},
                                    {"o.yaml", file("explore-operation.yaml")},
                                    {"a.yaml", file("actuatorconfiguration.yaml")}});
  ASSERT_THAT(read.problems, IsEmpty());
  EXPECT_EQ(read.space->size(), 8U) << "1 x 1 x 2 x (2, 4, 6, 8)";
  EXPECT_EQ(title(read, 0), "1024,2");
  EXPECT_EQ(title(read, 7), "4096,8");
  const experiment::Point first = read.space->point(std::uint64_t{0});
  EXPECT_EQ(first.text("fms_hf_tuning_version"), "3.1.0") << "a quoted number is text";
  EXPECT_EQ(first.real("stop_after_seconds"), 45);
  const Together store = read_files({"imported-store.yaml"});
  EXPECT_THAT(store.problems, IsEmpty());
  EXPECT_EQ(store.document.imports[0].experiments[0].actuator, "SFTTrainer");
  EXPECT_THAT(store.document.imports[0].experiments[0].measured,
              ElementsAre(std::pair<std::string, std::string>("train_runtime", "train_runtime")));
}

TEST(AdoFiles, ActuatorParametersPlaceModelsAndData) {
  const TemporaryFolder folder;
  const std::string home = folder.path().string();
  const std::string snapshot = home + "/hub/models--HuggingFaceTB--SmolLM2-135M/snapshots/abc";
  std::filesystem::create_directories(snapshot);
  std::filesystem::create_directories(home + "/mine");
  std::ofstream(snapshot + "/config.json") << "{}";
  std::ofstream(home + "/mine/config.json") << "{}";
  std::ofstream(home + "/news-tokens-16384plus-entries-4096.jsonl") << "{}";
  const std::string parameters = "actuatorIdentifier: SFTTrainer\nparameters:\n  hf_home: " + home +
                                 "\n  data_directory: " + home +
                                 "\n  output_dir: out\n  aim_db: null\n  aim_dashboard_url: x\n"
                                 "  match_exact_dependencies: true\n"
                                 "  num_tokens_cache_directory: cache\n";
  const Together cached =
      read_texts({{"s.yaml", file("sweep-space.yaml")}, {"a.yaml", parameters}});
  ASSERT_THAT(cached.problems, IsEmpty());
  const experiment::Point first = cached.space->point(std::uint64_t{0});
  EXPECT_EQ(first.text("model_name"), snapshot);
  EXPECT_EQ(first.text("dataset_id"), home + "/news-tokens-16384plus-entries-4096.jsonl");
  EXPECT_THAT(cached.document.notes, Contains(HasSubstr("output_dir: ")));
  const Together mapped =
      read_texts({{"s.yaml", file("sweep-space.yaml")},
                  {"a.yaml", parameters + "  model_map: {smollm2-135m: {Vanilla: " + home +
                                 "/mine}, llama-7b: " + home + "/none}\n"}});
  ASSERT_THAT(mapped.problems, IsEmpty());
  EXPECT_EQ(mapped.space->point(std::uint64_t{0}).text("model_name"), home + "/mine");
}

/// A space that is read, one piece of which each case replaces.
constexpr const char* kSpace = R"(sampleStoreIdentifier: 3f9a1c
metadata: {name: x, labels: {team: perf}}
entitySpace:
  - identifier: model_name
    propertyDomain: {values: [tiny]}
  - identifier: number_gpus
    propertyDomain: {values: [0]}
  - identifier: model_max_length
    propertyDomain: {values: [512, 1024]}
  - identifier: batch_size
    propertyDomain: {domainRange: [4, 17], interval: 4}
experiments:
  - actuatorIdentifier: SFTTrainer
    experimentIdentifier: finetune_full_benchmark-v1.0.0
    parameterization:
      - property: {identifier: stop_after_seconds}
        value: 30
)";
constexpr const char* kOperation = R"(spaces: [space-1]
operation:
  module: {operatorName: random_walk, operationType: search}
  parameters:
    numberEntities: all
    batchSize: 2
    samplerConfig: {samplerType: generator, mode: sequential}
)";
constexpr const char* kTune = R"(spaces: [space-1]
operation:
  module: {operatorName: ray_tune, operationType: search}
  parameters:
    tuneConfig:
      metric: train_runtime
      search_alg: {name: optuna}
    runtimeConfig:
      stop:
        - {name: SimpleStopper, positionalParams: [min, train_runtime]}
)";
constexpr const char* kActuator = R"(actuatorIdentifier: SFTTrainer
parameters:
  hf_home: ./hf
)";
constexpr const char* kStore = R"(specification:
  module: {moduleName: ado.core.samplestore.sql, moduleClass: SQLSampleStore}
copyFrom:
  - module: {moduleName: ado.core.samplestore.csv, moduleClass: CSVSampleStore}
    storageLocation: {path: old.csv}
    parameters:
      identifierColumn: id
)";

struct Broken {
  const char* text;  ///< of the five
  const char* piece;
  const char* instead;
  const char* expected;  ///< "line:column: message"
};

const std::vector<Broken>& broken_files() {
  static const std::vector<Broken> kCases{
      {kSpace, "sampleStoreIdentifier", "sampleStoreIdentifer",
       "1:1: unknown key 'sampleStoreIdentifer'\n   1 | sampleStoreIdentifer: 3f9a1c\n     | "
       "^^^^^^^^^^^^^^^^^^^^ did you mean 'sampleStoreIdentifier'?"},
      {kSpace, "entitySpace", "entitySpaces", "3:1: unknown key 'entitySpaces'"},
      {kSpace, "identifier: batch_size", "identifier: batchsize",
       "10:17: redundant dimension 'batchsize': no experiment has an input of that name\n  10 |   "
       "- identifier: batchsize\n     |                 ^^^^^^^^^ did you mean 'batch_size'?"},
      {kSpace, "identifier: batch_size", "identifier: learning_rate",
       "the space has no dimension 'batch_size'"},
      {kSpace, "identifier: batch_size", "identifier: model_max_length",
       "10:17: dimension 'model_max_length' is given twice, first in line 8"},
      {kSpace, "  - identifier: number_gpus\n    propertyDomain: {values: [0]}\n", "",
       "4:3: the space has no dimension 'number_gpus'"},
      {kSpace, "domainRange: [4, 17]", "domainRnge: [4, 17]", "11:22: unknown key 'domainRnge'"},
      {kSpace, "domainRange: [4, 17]", "domainRange: [4]",
       "11:35: 'domainRange' is a list but must be a list of two numbers"},
      {kSpace, "domainRange: [4, 17]", "domainRange: [17, 4]",
       "11:21: dimension 'batch_size': domainRange [17, 4) is empty"},
      {kSpace, "domainRange: [4, 17]", "domainRange: [4, x]",
       "11:39: 'domainRange' is 'x' but must be a number"},
      {kSpace, "interval: 4", "interval: 0",
       "11:21: dimension 'batch_size': interval must be above 0"},
      {kSpace, ", interval: 4", "",
       "11:21: dimension 'batch_size' has no end and cannot be counted - give values, or a "
       "domainRange with an interval"},
      {kSpace, "values: [512, 1024]", "values: []",
       "9:21: dimension 'model_max_length': values is an empty list"},
      {kSpace, "values: [512, 1024]", "values: [512, 512]",
       "9:21: dimension 'model_max_length': values has 512 twice"},
      {kSpace, "values: [512, 1024]", "values: [512, long]",
       "9:36: model_max_length is 'long' but must be a whole number"},
      {kSpace, "values: [512, 1024]", "values: [512, 200000]",
       "9:36: model_max_length is 200000 but must be 1 … 131072 - nearest: 131072"},
      {kSpace, "values: [512, 1024]", "values: [512], interval: 2",
       "interval goes with domainRange, not with values"},
      {kSpace, "values: [512, 1024]", "values: [512], variableType: DISCRETE_VARIABLE",
       "did you mean 'DISCRETE_VARIABLE_TYPE'?"},
      {kSpace, "values: [512, 1024]", "values: [512], variableType: CONTINUOUS_VARIABLE_TYPE",
       "CONTINUOUS_VARIABLE_TYPE takes neither values nor an interval"},
      {kSpace, "values: [512, 1024]", "values: [512], probabilityFunction: {identifier: unifrm}",
       "did you mean 'uniform'?"},
      {kSpace, "actuatorIdentifier: SFTTrainer", "actuatorIdentifier: SFTrainer",
       "13:25: actuator 'SFTrainer' is not built in - did you mean 'SFTTrainer'?"},
      {kSpace, "actuatorIdentifier: SFTTrainer", "actuatorIdentifer: SFTTrainer",
       "13:5: unknown key 'actuatorIdentifer'"},
      {kSpace, "finetune_full_benchmark-v1.0.0", "finetune_full_benchmark-v1.0.1",
       "14:27: unknown experiment 'finetune_full_benchmark-v1.0.1' - did you mean "
       "'finetune_full_benchmark-v1.0.0'?"},
      {kSpace, "    parameterization", "    experimentVersion: 1.0.0\n    parameterization",
       "15:24: SFTTrainer's experiments have no experimentVersion - leave it out"},
      {kSpace, "identifier: stop_after_seconds", "identifier: stop_after_second",
       "16:32: unknown parameter 'stop_after_second'"},
      {kSpace, "identifier: stop_after_seconds", "identifier: batch_size",
       "16:32: 'batch_size' is no optional input - make it a dimension of entitySpace"},
      {kSpace, "value: 30\n", "value: soon\n",
       "17:16: stop_after_seconds is 'soon' but must be a number"},
      {kSpace, "value: 30\n", "valu: 30\n", "17:9: unknown key 'valu'"},
      {kSpace, "value: 30\n",
       "value: 30\n      - {property: {identifier: stop_after_seconds}, value: 40}\n",
       "18:33: parameter 'stop_after_seconds' is given twice, first in line 16"},
      {kSpace, "identifier: number_gpus\n    propertyDomain: {values: [0]}",
       "identifier: number_gpus\n    propertyDomain: {values: [0]}\n  - identifier: "
       "stop_after_seconds\n    propertyDomain: {values: [10, 20]}",
       "stop_after_seconds is an input of the space and of finetune_full_benchmark-v1.0.0"},
      {kSpace, "labels: {team: perf}", "labels: [perf]",
       "2:29: 'labels' is a list but must be a mapping of texts"},
      {kSpace, "experiments:", "experiment:", "12:1: unknown key 'experiment'"},
      {kOperation, "spaces: [space-1]", "spaces: [space-1, space-2]",
       "1:9: an operation goes over one space, and 2 are named"},
      {kOperation, "spaces", "space", "1:1: unknown key 'space'"},
      {kOperation, "operatorName: random_walk", "operatorName: random_wlak",
       "3:26: operator 'random_wlak' is not done here - did you mean 'random_walk'?"},
      {kOperation, "operatorName: random_walk", "operatorName: rifferla",
       "operator 'rifferla' is not done here"},
      {kOperation, "operationType: search", "operationType: modify",
       "3:54: operationType 'modify' does not fit an operator that explores"},
      {kOperation, "numberEntities: all", "numberEntities: 0",
       "5:21: 'numberEntities' is 0 but must be a whole number of at least 1"},
      {kOperation, "numberEntities: all", "numberEntities: 9",
       "5:21: numberEntities 9 is more than the 8 points of the space - all"},
      {kOperation, "numberEntities: all", "numberEntites: all", "5:5: unknown key 'numberEntites'"},
      {kOperation, "numberEntities: all", "numberEntities: 1",
       "6:16: batchSize 2 is more than numberEntities 1"},
      {kOperation, "mode: sequential", "mode: sequental", "did you mean 'sequential'?"},
      {kOperation, "samplerType: generator", "samplerType: selector",
       "7:34: samplerType 'selector' (ado's default) visits only points that a store holds"},
      {kOperation, "mode: sequential", "mode: sequentialgrouped",
       "mode 'sequentialgrouped' has no grouping"},
      {kOperation, "mode: sequential", "mode: sequentialgrouped, grouping: [modl_name]",
       "'modl_name' is no dimension of the space - did you mean 'model_name'?"},
      {kOperation, "samplerType: generator, mode: sequential", "module: {moduleClass: X}",
       "custom samplers are code of ado and are not run"},
      {kTune, "metric: train_runtime", "metric: train_runtim",
       "6:15: unknown metric 'train_runtim' - did you mean 'train_runtime'?"},
      {kTune, "name: optuna", "name: optuan",
       "7:26: unknown search algorithm 'optuan' - did you mean 'optuna'?"},
      {kTune, "name: optuna", "name: nevergrad",
       "7:26: search algorithm 'nevergrad' is not done here - search: {method: tpe} in a plan"},
      {kTune, "name: SimpleStopper", "name: SimpelStopper",
       "10:18: unknown stopper 'SimpelStopper' - did you mean 'SimpleStopper'?"},
      {kTune, "[min, train_runtime]", "[min]", "10:18: SimpleStopper needs 'metric'"},
      {kTune, "[min, train_runtime]", "[least, train_runtime]",
       "'mode' is 'least' but must be min or max"},
      {kTune, "metric: train_runtime", "metric: train_runtime\n      num_sample: 4",
       "unknown key of tuneConfig 'num_sample'"},
      {kActuator, "hf_home", "hf_hom",
       "3:3: unknown key 'hf_hom'\n   3 |   hf_hom: ./hf\n     |   ^^^^^^ did you mean 'hf_home'?"},
      {kActuator, "hf_home: ./hf", "hf_home: [x]", "3:12: 'hf_home' is a list but must be a text"},
      {kActuator, "SFTTrainer", "robotic_lab",
       "1:21: actuator 'robotic_lab' is not built in - SFTTrainer is"},
      {kActuator, "hf_home: ./hf", "model_map: {tiny: {Vanila: x}}",
       "3:22: unknown weights format 'Vanila'"},
      {kStore, "identifierColumn", "identiferColumn", "7:7: unknown key 'identiferColumn'"},
      {kStore, "CSVSampleStore", "CSVSamplStore",
       "a copy from 'CSVSamplStore' is not read here - did you mean 'CSVSampleStore'?"},
      {kStore, "path: old.csv", "pth: old.csv", "5:23: unknown key 'pth'"},
  };
  return kCases;
}

std::vector<std::string> problems_of(const char* base, const std::string& text) {
  std::vector<std::pair<std::string, std::string>> files{{"f", text}};
  if (base != kSpace) {
    files.emplace_back("space", kSpace);
  }
  return read_texts(files).problems;
}

TEST(AdoFiles, TheFilesThatAreBrokenBelowAreGood) {
  for (const char* text : {kSpace, kOperation, kTune, kActuator, kStore}) {
    EXPECT_THAT(problems_of(text, text), IsEmpty());
  }
}

TEST(AdoFiles, BrokenFilesAreRefusedWithPlaceAndNearestWord) {
  EXPECT_GE(broken_files().size(), 30U);
  for (const Broken& one : broken_files()) {
    std::string text = one.text;
    const std::size_t at = text.find(one.piece);
    ASSERT_NE(at, std::string::npos) << one.piece;
    text.replace(at, std::string(one.piece).size(), one.instead);
    const std::vector<std::string> problems = problems_of(one.text, text);
    EXPECT_THAT(problems, Contains(HasSubstr(one.expected))) << text;
    EXPECT_LE(problems.size(), 3U) << text << testing::PrintToString(problems);
  }
}

TEST(AdoFiles, WalksAreOrders) {
  const auto walk = [](const char* parameters) {
    std::string text = kOperation;
    text.replace(text.find("    numberEntities"), std::string::npos, parameters);
    return read_texts({{"s", kSpace}, {"o", text}});
  };
  const Together random =
      walk("    numberEntities: all\n    samplerConfig: {samplerType: generator}\n");
  EXPECT_THAT(random.problems, IsEmpty());
  EXPECT_EQ(random.option("order"), "random");
  const Together first = walk(
      "    numberEntities: 3\n    samplerConfig: {samplerType: generator, mode: sequential}\n");
  EXPECT_EQ(first.document.stop.points, 3);
  EXPECT_EQ(first.document.search.method, "grid");
  const Together some =
      walk("    numberEntities: 3\n    samplerConfig: {samplerType: generator}\n");
  EXPECT_EQ(some.document.search.method, "random_walk");
  const Together grouped = walk(
      "    numberEntities: all\n    samplerConfig: {samplerType: generator, mode: randomgrouped, "
      "grouping: [model_max_length]}\n");
  EXPECT_EQ(grouped.document.search.parameters.dump(),
            R"({"mode":"randomgrouped","grouping":["model_max_length"]})");
  const Together filtered = walk(
      "    numberEntities: all\n    filter: {filterMode: unmeasured}\n    samplerConfig: "
      "{samplerType: generator, mode: sequential}\n");
  EXPECT_EQ(filtered.document.search.method, "grid") << "known points are reused anyway";
  const Together flat =
      walk("    numberEntities: all\n    mode: sequential\n    samplerType: generator\n");
  EXPECT_THAT(flat.problems, IsEmpty());
  EXPECT_EQ(flat.document.search.method, "grid");
  EXPECT_THAT(walk("    numberEntities: all\n").problems,
              ElementsAre(HasSubstr("samplerType 'selector' (ado's default)")));
}

TEST(AdoFiles, SearchAlgorithmsAreMethodsOfOurs) {
  const auto method = [](const std::string& algorithm) {
    std::string text = kTune;
    text.replace(text.find("{name: optuna}"), 14, algorithm);
    const Together read = read_texts({{"s", kSpace}, {"o", text}});
    EXPECT_THAT(read.problems, IsEmpty()) << algorithm;
    return read.document.search.method + read.document.search.parameters.dump();
  };
  EXPECT_EQ(method("{name: optuna}"), "tpe{}");
  EXPECT_EQ(method("{name: optuna, params: {sampler: QMCSampler}}"), "sobol{}");
  EXPECT_EQ(method("{name: optuna, params: {sampler: TPESampler, sampler_parameters: {seed: 3, "
                   "n_startup_trials: 5}}}"),
            R"(tpe{"seed":3,"startup":5})");
  EXPECT_EQ(method("{name: hyperopt}"), "tpe{}");
  EXPECT_EQ(method("{name: bayesopt, params: {points_to_evaluate: [{batch_size: 4}]}}"),
            R"(gp{"first":[{"batch_size":4}]})");
  EXPECT_EQ(method("{name: lhu_sampler}"), "lhs{}");
}

TEST(AdoFiles, AnOperationNeedsItsSpace) {
  EXPECT_THAT(
      read_texts({{"o", kOperation}}).problems,
      Contains("o:1:1: an operation is given without a space - give the space's file, too"));
  EXPECT_THAT(read_texts({{"s", kSpace}, {"p.yaml", "repeats: 3\n"}}).problems,
              Contains(HasSubstr("p.yaml:1:1: a plan is given together with other documents")));
}

}  // namespace
}  // namespace tunebench::plans
