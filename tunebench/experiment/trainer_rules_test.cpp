#include "tunebench/experiment/trainer_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/experiment/experiment.h"

namespace tunebench::experiment {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> refusals(const std::vector<std::pair<std::string, Json>>& inputs,
                                  const char* id = "finetune_full_benchmark-v1.0.0",
                                  int gpus_here = 0) {
  Point point{id, {}};
  for (const Property& property : properties()) {
    point.inputs[property.name] = property.default_value;
  }
  for (const auto& [name, value] : find_experiment(id)->fixed) {
    point.inputs[name] = value;
  }
  point.inputs["model_name"] = "some/folder";
  point.inputs["model_max_length"] = 64;
  point.inputs["batch_size"] = 4;
  for (const auto& [name, value] : inputs) {
    point.inputs[name] = value;
  }
  Diagnostics problems;
  validate(point, gpus_here, problems);
  std::vector<std::string> lines;
  for (const Diagnostic& problem : problems) {
    lines.push_back(problem.line());
  }
  return lines;
}

TEST(TrainerRules, NameOnlyPropertiesAndValuesThatThereAre) {
  for (const TrainerRules& rules : trainer_rules()) {
    for (const std::string& name : rules.honoured) {
      EXPECT_NE(find_property(name), nullptr) << rules.name << " " << name;
    }
    for (const auto& [name, values] : rules.only) {
      const Property* property = find_property(name);
      ASSERT_NE(property, nullptr) << name;
      EXPECT_THAT(rules.honoured, Contains(name)) << "a narrower list of what is not read at all";
      for (const Json& value : values) {
        Diagnostics problems;
        EXPECT_TRUE(check_value(*property, value, "", problems).has_value()) << value.dump();
      }
    }
    EXPECT_FALSE(rules.help.empty()) << rules.name;
    EXPECT_THAT(rules.methods, testing::Not(IsEmpty())) << rules.name;
  }
}

TEST(TrainerRules, AreTheDomainOfTheInputTrainer) {
  std::vector<Json> names;
  for (const TrainerRules& rules : trainer_rules()) {
    names.emplace_back(rules.name);
  }
  EXPECT_EQ(find_property("trainer")->domain.values, names);
  EXPECT_EQ(find_trainer_rules("torch"), nullptr);
}

TEST(TrainerRules, AFolderWithDefaultsIsFineForEveryTrainerOfFolders) {
  EXPECT_THAT(refusals({{"trainer", "hf"}}), IsEmpty());
  EXPECT_THAT(refusals({{"trainer", "command"}}), IsEmpty());
  EXPECT_THAT(refusals({{"trainer", "fms-hf-tuning"}, {"fms_hf_tuning_version", "3.2.2"}}),
              IsEmpty());
}

TEST(TrainerRules, WhatATrainerWouldIgnoreIsRefusedByName) {
  EXPECT_THAT(refusals({{"trainer", "hf"}, {"fast_moe", 2}, {"number_gpus", 2}},
                       "finetune_full_benchmark-v1.0.0", 2),
              Contains(HasSubstr("fast_moe 2 is not supported by trainer hf")));
  EXPECT_THAT(refusals({{"trainer", "hf"}, {"memory_limit_gib", 3.0}}),
              ElementsAre(HasSubstr("memory_limit_gib 3 is not supported by trainer hf")));
  EXPECT_THAT(refusals({{"trainer", "hf"}, {"enable_roce", true}}),
              ElementsAre(HasSubstr("enable_roce true is not supported by trainer hf")));
  EXPECT_THAT(refusals({{"trainer", "command"}, {"fast_kernels", Json()}, {"enable_roce", true}}),
              IsEmpty())
      << "a command is told every input";
}

TEST(TrainerRules, AValueThatATrainerCannotDoIsRefusedWithThoseItCan) {
  EXPECT_THAT(refusals({{"trainer", "hf"}, {"optim", "lomo"}}),
              ElementsAre(testing::AllOf(HasSubstr("optim lomo is not supported by trainer hf"),
                                         HasSubstr("adamw_torch"))));
  EXPECT_THAT(refusals({{"trainer", "fms-hf-tuning"}}),
              ElementsAre(testing::AllOf(HasSubstr("fms_hf_tuning_version 2.1.2"),
                                         HasSubstr("it can do 3.2.2"))));
}

TEST(TrainerRules, APresetIsNoModelFolder) {
  EXPECT_THAT(refusals({{"trainer", "hf"}, {"model_name", "tiny"}}),
              ElementsAre(testing::AllOf(HasSubstr("model_name tiny is not supported"),
                                         HasSubstr("model folder"))));
}

TEST(TrainerRules, AnExperimentThatATrainerCannotRunNamesThoseThatCan) {
  const char* lora = "finetune_lora_benchmark-v1.0.0";
  EXPECT_THAT(refusals({{"trainer", "hf"}}, lora), IsEmpty());
  EXPECT_THAT(refusals({{"trainer", "native"}}, lora), IsEmpty());
  EXPECT_THAT(refusals({{"trainer", "native"}}, "finetune_pt_benchmark-v1.0.0"), IsEmpty());
  EXPECT_THAT(refusals({{"trainer", "torchtune"}}, "finetune_pt_benchmark-v1.0.0"),
              ElementsAre(HasSubstr("cannot be run by trainer torchtune")));
  for (const char* preferences : {"finetune_dpo_benchmark-v1.0.0", "finetune_orpo_benchmark-v1.0.0",
                                  "finetune_reward_benchmark-v1.0.0"}) {
    EXPECT_THAT(refusals({{"trainer", "hf"}}, preferences), IsEmpty());
    EXPECT_THAT(refusals({{"trainer", "native"}}, preferences),
                ElementsAre(HasSubstr("trainers that can: simulated, command, hf")));
  }
  EXPECT_THAT(refusals({{"trainer", "fms-hf-tuning"}, {"fms_hf_tuning_version", "3.2.2"}},
                       "finetune_adapter-v2_benchmark-v1.0.0"),
              ElementsAre(HasSubstr("trainers that can: simulated, command, litgpt")));
}

TEST(TrainerRules, LitGptTrainsOnOneDeviceWithItsOwnSchedule) {
  EXPECT_THAT(refusals({{"trainer", "litgpt"}}), IsEmpty());
  EXPECT_THAT(refusals({{"trainer", "litgpt"}}, "finetune_adapter_benchmark-v1.0.0"), IsEmpty());
  EXPECT_THAT(refusals({{"trainer", "litgpt"}, {"number_gpus", 2}, {"lr_scheduler_type", "linear"}},
                       "finetune_full_benchmark-v1.0.0", 2),
              ElementsAre(HasSubstr("lr_scheduler_type linear is not supported by trainer litgpt"),
                          HasSubstr("number_gpus 2 is not supported by trainer litgpt")));
}

TEST(TrainerRules, TorchtuneComputesInOneType) {
  EXPECT_THAT(refusals({{"trainer", "torchtune"}}), IsEmpty());
  EXPECT_THAT(refusals({{"trainer", "torchtune"}, {"bf16", true}, {"torch_dtype", "float16"}}),
              ElementsAre(HasSubstr("torch_dtype float16 is not supported by trainer torchtune"),
                          HasSubstr("bf16 true is not supported by trainer torchtune")));
}

TEST(TrainerRules, GpusMustBeThereForWhatReallyTrains) {
  for (const char* trainer : {"hf", "command"}) {
    EXPECT_THAT(refusals({{"trainer", trainer}, {"number_gpus", 1}}),
                ElementsAre(HasSubstr("number_gpus is 1 but this machine has 0 GPUs")))
        << trainer;
  }
  EXPECT_THAT(refusals({{"trainer", "simulated"}, {"number_gpus", 4}}), IsEmpty());
}

}  // namespace
}  // namespace tunebench::experiment
