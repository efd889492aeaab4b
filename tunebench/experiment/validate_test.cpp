#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/experiment/experiment.h"

namespace tunebench::experiment {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Point point_with(const std::vector<std::pair<std::string, Json>>& inputs,
                 const char* experiment = "finetune_full_benchmark-v1.0.0") {
  Point point{experiment, {}};
  for (const Property& property : properties()) {
    point.inputs[property.name] = property.default_value;
  }
  point.inputs["model_name"] = "tiny";
  point.inputs["model_max_length"] = 64;
  point.inputs["batch_size"] = 4;
  for (const auto& [name, value] : inputs) {
    point.inputs[name] = value;
  }
  return point;
}

std::vector<std::string> problems_of_point(const Point& point, int gpus_here = 0) {
  Diagnostics problems;
  validate(point, gpus_here, problems);
  std::vector<std::string> lines;
  for (const Diagnostic& problem : problems) {
    lines.push_back(problem.line());
  }
  return lines;
}

std::vector<std::string> problems_of(const std::vector<std::pair<std::string, Json>>& inputs,
                                     int gpus_here = 0) {
  return problems_of_point(point_with(inputs), gpus_here);
}

TEST(ValidateTest, DefaultsAreFine) {
  EXPECT_THAT(problems_of({}), IsEmpty());
}

// CLI-05
TEST(ValidateTest, BatchMustBeAMultipleOfTheGpus) {
  const auto is_refused = [](int batch, int gpus) {
    for (const std::string& line : problems_of({{"batch_size", batch}, {"number_gpus", gpus}}, 8)) {
      if (line.starts_with("batch_size is")) {
        return true;
      }
    }
    return false;
  };
  for (const int batch : {1, 2, 3, 4, 6}) {
    EXPECT_FALSE(is_refused(batch, 0));
    EXPECT_FALSE(is_refused(batch, 1));
    EXPECT_EQ(is_refused(batch, 2), batch % 2 != 0) << batch;
    EXPECT_EQ(is_refused(batch, 4), batch != 4) << batch;
  }
}

TEST(ValidateTest, NamesTheNearestBatches) {
  EXPECT_THAT(problems_of({{"batch_size", 6}, {"number_gpus", 4}}, 8),
              Contains("batch_size is 6 but number_gpus is 4; nearest: 4, 8"));
  EXPECT_THAT(problems_of({{"batch_size", 2}, {"number_gpus", 4}}, 8),
              Contains("batch_size is 2 but number_gpus is 4; nearest: 4"));
  EXPECT_THAT(problems_of({{"batch_size", 4095}, {"number_gpus", 32}}, 32),
              Contains("batch_size is 4095 but number_gpus is 32; nearest: 4064, 4096"));
}

TEST(ValidateTest, TheSimulatedTrainerHasTheGpusThatItIsTold) {
  EXPECT_THAT(problems_of({{"trainer", "simulated"},
                           {"number_gpus", 4},
                           {"fast_moe", 2},
                           {"fms_hf_tuning_version", "2.4.0"},
                           {"gpu_model", "L40S"}}),
              IsEmpty());
  EXPECT_THAT(problems_of({{"trainer", "simulated"}, {"number_gpus", 3}}),
              ElementsAre(HasSubstr("batch_size is 4 but number_gpus is 3")));
}

TEST(ValidateTest, NativeTakesTheRuleOfTheReferenceSystem) {
  EXPECT_THAT(problems_of({{"auto_stop_method", "WARMUP_60S_STABLE_120S_OR_10_STEPS"}}), IsEmpty());
}

TEST(ValidateTest, GpusMustBeAMultipleOfTheNodes) {
  EXPECT_THAT(problems_of({{"number_gpus", 3}, {"batch_size", 3}, {"number_nodes", 2}}, 8),
              Contains("number_gpus is 3 but number_nodes is 2; nearest: 2, 4"));
  EXPECT_THAT(problems_of({{"number_nodes", 2}}),
              Contains("number_gpus is 0 but number_nodes is 2; nearest: 2"));
  EXPECT_THAT(problems_of({{"number_gpus", 4}, {"number_nodes", 2}}, 8),
              Not(Contains(HasSubstr("but number_nodes"))));
}

TEST(ValidateTest, ExpertsNeedGpusAndAVersion) {
  EXPECT_THAT(problems_of({{"fast_moe", 2}, {"number_gpus", 3}, {"batch_size", 3}}, 8),
              Contains("number_gpus is 3 but fast_moe is 2; nearest: 2, 4"));
  EXPECT_THAT(problems_of({{"fast_moe", 2}}),
              Contains("fast_moe is 2 but fms_hf_tuning_version is 2.1.2; nearest: 2.4.0"));
  for (const char* version : {"2.4.0", "2.8.2", "3.0.0.1"}) {
    EXPECT_THAT(problems_of({{"fast_moe", 2}, {"fms_hf_tuning_version", version}}),
                Not(Contains(HasSubstr("but fms_hf_tuning_version"))))
        << version;
  }
}

TEST(ValidateTest, QuantisedWeightsNeedFloat16) {
  const char* quantised = "finetune_gptq-lora_benchmark-v1.0.0";
  EXPECT_THAT(problems_of_point(point_with({}, quantised)),
              Contains("torch_dtype is bfloat16 but finetune_gptq-lora_benchmark-v1.0.0 needs "
                       "float16"));
  EXPECT_THAT(problems_of_point(point_with({{"torch_dtype", "float16"}}, quantised)),
              Not(Contains(HasSubstr("needs float16"))));
}

TEST(ValidateTest, RefusesGpusThatAreNotThere) {
  EXPECT_THAT(problems_of({{"number_gpus", 2}}),
              ElementsAre("number_gpus is 2 but this machine has 0 GPUs",
                          "number_gpus 2 is not supported by trainer native - this build has no "
                          "GPU backend; use 0"));
  EXPECT_THAT(problems_of({{"number_gpus", 2}}, 1),
              Contains("number_gpus is 2 but this machine has 1 GPU"));
  EXPECT_THAT(problems_of({{"number_gpus", 2}}, 2),
              ElementsAre(HasSubstr("number_gpus 2 is not supported by trainer native")));
}

TEST(ValidateTest, EmptyDeviceListMeansNoGpu) {
  ASSERT_EQ(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
  Diagnostics problems;
  validate(point_with({{"number_gpus", 1}}), problems);
  unsetenv("CUDA_VISIBLE_DEVICES");
  ASSERT_FALSE(problems.empty());
  EXPECT_EQ(problems[0].line(), "number_gpus is 1 but this machine has 0 GPUs");
}

TEST(ValidateTest, RefusesByNameWhatNativeDoesNotRead) {
  const std::vector<std::pair<std::string, Json>> values{
      {"gpu_model", "L40S"},
      {"fms_hf_tuning_version", "2.8.2"},
      {"enable_roce", true},
      {"fast_kernels", Json::array({"True", "True", "True"})},
      {"r", 8},
      {"lora_alpha", 8},
      {"bf16", true},
      {"gradient_checkpointing_use_reentrant", true},
      {"flash_attn", false},
      {"fsdp_sharding_strategy", "NO_SHARD"},
      {"fsdp_state_dict_type", "LOCAL_STATE_DICT"},
      {"fsdp_use_orig_params", false},
      {"accelerate_config_mixed_precision", "bf16"},
      {"accelerate_config_fsdp_transformer_layer_cls_to_wrap", "GPTJBlock"},
      {"dataset_image_field", "images"},
      {"remove_unused_columns", false},
      {"dataset_kwargs_skip_prepare_dataset", true}};
  for (const auto& [name, value] : values) {
    const std::string shown = value.is_string() ? value.as_string() : value.dump();
    EXPECT_THAT(problems_of({{name, value}}),
                ElementsAre(HasSubstr(name + " " + shown + " is not supported by trainer native")));
  }
}

TEST(ValidateTest, EveryPropertyIsReadOrRefused) {
  for (const Property& property : properties()) {
    if (property.native || property.domain.values.size() < 2) {
      continue;
    }
    for (const Json& value : property.domain.values) {
      EXPECT_EQ(problems_of({{property.name, value}}).empty(), value == property.default_value)
          << property.name << " " << value.dump();
    }
  }
}

TEST(ValidateTest, SaysTheDefaultThatWouldBeAccepted) {
  EXPECT_THAT(problems_of({{"flash_attn", false}}),
              ElementsAre("flash_attn false is not supported by trainer native - leave it out or "
                          "give its default true"));
  EXPECT_THAT(problems_of({{"gpu_model", "L40S"}}),
              ElementsAre("gpu_model L40S is not supported by trainer native - leave it out"));
}

TEST(ValidateTest, NativeHasAdamwOnly) {
  EXPECT_THAT(problems_of({{"optim", "adamw_torch_fused"}}), IsEmpty());
  EXPECT_THAT(problems_of({{"optim", "adamw_hf"}}),
              ElementsAre("optim adamw_hf is not supported by trainer native - use adamw_torch"));
}

TEST(ValidateTest, BackendMeansNothingBelowTwoGpus) {
  for (const char* backend : {"DDP", "FSDP", "None"}) {
    EXPECT_THAT(problems_of({{"distributed_backend", backend}}), IsEmpty()) << backend;
  }
}

TEST(ValidateTest, NativeTrainsOnTextOnly) {
  EXPECT_THAT(problems_of({{"dataset_id", "vision-384x384-16384plus-entries-4096"}}),
              ElementsAre("dataset_id vision-384x384-16384plus-entries-4096 is not supported by "
                          "trainer native - use a text dataset"));
  EXPECT_THAT(problems_of({{"dataset_id", "vision-notes.jsonl"}}), IsEmpty());
  EXPECT_THAT(problems_of({{"dataset_text_field", "messages"}}),
              ElementsAre(HasSubstr("dataset_text_field messages is not supported")));
  EXPECT_THAT(problems_of({{"dataset_text_field", "text"}}), IsEmpty());
}

TEST(ValidateTest, ReportsEverythingAtOnce) {
  EXPECT_THAT(problems_of({{"batch_size", 3}, {"number_gpus", 2}, {"bf16", true}}),
              ElementsAre(HasSubstr("batch_size is 3 but number_gpus is 2"),
                          HasSubstr("this machine has 0 GPUs"), HasSubstr("number_gpus 2"),
                          HasSubstr("bf16 true")));
}

TEST(ValidateTest, RefusesExperimentsThatCannotRun) {
  EXPECT_THAT(problems_of_point(
                  point_with({{"torch_dtype", "float16"}}, "finetune_gptq-lora_benchmark-v1.0.0")),
              Contains("finetune_gptq-lora_benchmark-v1.0.0 cannot be run by trainer native"));
}

TEST(ValidateTest, PropertiesOfAMethodBelongToItsExperiments) {
  const std::vector<std::pair<std::string, Json>> lora = {
      {"r", 8}, {"lora_alpha", 32}, {"target_modules", "all-linear"}};
  EXPECT_THAT(problems_of_point(point_with(lora, "finetune_lora_benchmark-v1.0.0")), IsEmpty());
  EXPECT_THAT(problems_of_point(point_with(lora)),
              ElementsAre("r 8 is not supported by trainer native - leave it out or give its "
                          "default 4",
                          HasSubstr("lora_alpha 32 is not supported by trainer native"),
                          HasSubstr("target_modules all-linear is not supported")));
}

}  // namespace
}  // namespace tunebench::experiment
