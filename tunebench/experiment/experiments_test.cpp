#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/experiment/experiment.h"
#include "tunebench/experiment/trainer_rules.h"

namespace tunebench::experiment {
namespace {

using testing::ElementsAre;

const Json* fixed(const Experiment& experiment, std::string_view name) {
  for (const auto& [key, value] : experiment.fixed) {
    if (key == name) {
      return &value;
    }
  }
  return nullptr;
}

TEST(ExperimentsTest, AreTheFiveOfTheReference) {
  std::vector<std::string> ids;
  for (const Experiment& experiment : experiments()) {
    ids.push_back(experiment.id);
  }
  EXPECT_THAT(ids, ElementsAre("finetune_full_benchmark-v1.0.0", "finetune_full_stability-v1.0.0",
                               "finetune_lora_benchmark-v1.0.0", "finetune_pt_benchmark-v1.0.0",
                               "finetune_gptq-lora_benchmark-v1.0.0"));
}

TEST(ExperimentsTest, AllButThoseOfQuantisedWeightsRun) {
  for (const Experiment& experiment : experiments()) {
    EXPECT_EQ(experiment.runnable, !trainers_for(experiment.method).empty()) << experiment.id;
  }
}

TEST(ExperimentsTest, AreFoundWithAndWithoutTheirVersion) {
  const Experiment* found = find_experiment("finetune_pt_benchmark");
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found, find_experiment("finetune_pt_benchmark-v1.0.0"));
  EXPECT_EQ(find_experiment("finetune_pt_benchmark-v2.0.0"), nullptr);
  EXPECT_EQ(find_experiment(""), nullptr);
}

TEST(ExperimentsTest, BenchmarksMeasureThe23PropertiesOfTheReference) {
  for (const Experiment& experiment : experiments()) {
    const std::set<std::string> names(experiment.measured.begin(), experiment.measured.end());
    EXPECT_EQ(names.size(), experiment.measured.size()) << "a name twice";
    EXPECT_EQ(names.size(), experiment.purpose == "Stability" ? 5U : 23U) << experiment.id;
    EXPECT_TRUE(names.contains("is_valid"));
  }
}

TEST(ExperimentsTest, StabilityFixesTheNumberOfSteps) {
  const Json* steps = fixed(*find_experiment("finetune_full_stability"), "max_steps");
  ASSERT_NE(steps, nullptr);
  EXPECT_EQ(*steps, Json(5));
}

TEST(ExperimentsTest, LoraKnowsTheTargetModulesOf38ModelsAndGptqOfTen) {
  const Json* lora = fixed(*find_experiment("finetune_lora_benchmark"), "target_modules_map");
  const Json* gptq = fixed(*find_experiment("finetune_gptq-lora_benchmark"), "target_modules_map");
  ASSERT_NE(lora, nullptr);
  ASSERT_NE(gptq, nullptr);
  EXPECT_EQ(lora->as_object().size(), 38U);
  EXPECT_EQ(gptq->as_object().size(), 10U);
  EXPECT_EQ(lora->at("llama-7b"), Json::array({"q_proj", "k_proj"}));
  EXPECT_EQ(lora->find("granite-4.0-1b"), nullptr);
  EXPECT_EQ(gptq->find("smollm2-135m"), nullptr);
}

TEST(ExperimentsTest, DefaultsThatDifferAreInTheDomainOfTheirProperty) {
  for (const Experiment& experiment : experiments()) {
    for (const auto& [name, value] : experiment.defaults) {
      const Property* property = find_property(name);
      ASSERT_NE(property, nullptr) << name;
      Diagnostics problems;
      EXPECT_TRUE(check_value(*property, value, "", problems)) << name;
      EXPECT_NE(value, property->default_value) << name;
    }
  }
}

}  // namespace
}  // namespace tunebench::experiment
