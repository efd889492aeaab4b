#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tunebench/experiment/property.h"

namespace tunebench::experiment {
namespace {

using testing::Contains;
using testing::ElementsAre;

std::vector<std::string> names_where(bool Property::*flag, bool wanted) {
  std::vector<std::string> names;
  for (const Property& property : properties()) {
    if (property.*flag == wanted) {
      names.push_back(property.name);
    }
  }
  return names;
}

const Property& named(std::string_view name) {
  const Property* property = find_property(name);
  EXPECT_NE(property, nullptr) << name;
  return *property;
}

TEST(PropertyTableTest, HoldsThe34PropertiesOfTheReferenceAndOurs) {
  EXPECT_EQ(names_where(&Property::ado, true).size(), 34U);
  EXPECT_THAT(
      names_where(&Property::ado, false),
      ElementsAre("trainer", "learning_rate", "weight_decay", "warmup_ratio", "lr_scheduler_type",
                  "max_grad_norm", "seed", "response_template", "memory_limit_gib",
                  "target_modules", "lora_dropout", "use_rslora", "lora_bias", "modules_to_save",
                  "num_virtual_tokens", "prompt_tuning_init", "prompt_tuning_init_text"));
}

TEST(PropertyTableTest, RequiresModelLengthAndBatch) {
  EXPECT_THAT(names_where(&Property::required, true),
              ElementsAre("model_name", "model_max_length", "batch_size"));
  EXPECT_EQ(named("number_gpus").default_value, Json(0));
}

TEST(PropertyTableTest, NamesAreUniqueAndDescribed) {
  std::set<std::string> names;
  for (const Property& property : properties()) {
    EXPECT_TRUE(names.insert(property.name).second) << property.name;
    EXPECT_FALSE(property.help.empty()) << property.name;
    EXPECT_TRUE(property.help.back() != '.') << property.name;
  }
}

TEST(PropertyTableTest, EveryDefaultIsInItsDomain) {
  for (const Property& property : properties()) {
    if (property.required) {
      continue;
    }
    Diagnostics problems;
    EXPECT_EQ(check_value(property, property.default_value, "", problems), property.default_value)
        << property.name;
    EXPECT_TRUE(problems.empty()) << property.name;
  }
}

TEST(PropertyTableTest, HasTheDefaultsOfTheReference) {
  const std::vector<std::pair<const char*, Json>> defaults{
      {"dataset_id", "news-tokens-16384plus-entries-4096"},
      {"gpu_model", nullptr},
      {"torch_dtype", "bfloat16"},
      {"gradient_checkpointing", true},
      {"gradient_accumulation_steps", 4},
      {"max_steps", -1},
      {"num_train_epochs", 1.0},
      {"stop_after_seconds", -1.0},
      {"auto_stop_method", nullptr},
      {"distributed_backend", "FSDP"},
      {"number_nodes", 1},
      {"fms_hf_tuning_version", "2.1.2"},
      {"enable_roce", false},
      {"fast_moe", 0},
      {"fast_kernels", nullptr},
      {"r", 4},
      {"lora_alpha", 16},
      {"optim", "adamw_torch"},
      {"bf16", false},
      {"gradient_checkpointing_use_reentrant", false},
      {"flash_attn", true},
      {"fsdp_sharding_strategy", "FULL_SHARD"},
      {"fsdp_state_dict_type", "FULL_STATE_DICT"},
      {"fsdp_use_orig_params", true},
      {"accelerate_config_mixed_precision", "no"},
      {"accelerate_config_fsdp_transformer_layer_cls_to_wrap", nullptr},
      {"dataset_text_field", "output"},
      {"dataset_image_field", nullptr},
      {"remove_unused_columns", true},
      {"dataset_kwargs_skip_prepare_dataset", false}};
  EXPECT_EQ(defaults.size(), 30U);
  for (const auto& [name, value] : defaults) {
    EXPECT_EQ(named(name).default_value, value) << name;
  }
}

TEST(PropertyTableTest, HasTheDefaultsOfTheFixedSettingsOfTheReference) {
  EXPECT_EQ(named("learning_rate").default_value, Json(1e-5));
  EXPECT_EQ(named("weight_decay").default_value, Json(0.0));
  EXPECT_EQ(named("warmup_ratio").default_value, Json(0.03));
  EXPECT_EQ(named("lr_scheduler_type").default_value, Json("cosine"));
}

TEST(PropertyTableTest, HasTheDomainsOfTheReference) {
  const std::vector<std::pair<const char*, const char*>> texts{
      {"model_max_length", "1 … 131072"},
      {"batch_size", "1 … 4096"},
      {"number_gpus", "0 … 32"},
      {"gradient_accumulation_steps", "1 … 32"},
      {"max_steps", "-1 … 10000"},
      {"num_train_epochs", "1 … 10000"},
      {"stop_after_seconds", "-1 … 1000000"},
      {"number_nodes", "1 … 8"},
      {"fast_moe", "0 … 32"},
      {"r", "1 … 32"},
      {"torch_dtype", "bfloat16, float16, float32"},
      {"distributed_backend", "DDP, FSDP, None"},
      {"fast_kernels", "null, [\"True\",\"True\",\"True\"]"},
      {"warmup_ratio", "0 … 1"},
      {"learning_rate", "0 or more"},
      {"response_template", "null, or any other text"}};
  for (const auto& [name, text] : texts) {
    EXPECT_EQ(named(name).domain.text(), text) << name;
  }
  EXPECT_EQ(named("optim").domain.values.size(), 38U);
  EXPECT_EQ(named("dataset_id").domain.values.size(), 14U);
  EXPECT_EQ(named("fms_hf_tuning_version").domain.values.size(), 15U);
}

TEST(PropertyTableTest, NamesPresetsAndModelsOfTheReferenceButTakesPaths) {
  const Domain& domain = named("model_name").domain;
  EXPECT_TRUE(domain.open);
  EXPECT_THAT(domain.values, Contains(Json("smollm2-135m")));
  EXPECT_THAT(domain.values, Contains(Json("tiny")));
  EXPECT_THAT(domain.values, Contains(Json("llama3-8b")));
  EXPECT_EQ(std::ranges::count(domain.values, Json("smollm2-135m")), 1);
}

TEST(PropertyTableTest, FindsWithDashesForUnderscores) {
  EXPECT_EQ(find_property("model-max-length"), find_property("model_max_length"));
  EXPECT_EQ(find_property("model_max_lenght"), nullptr);
}

TEST(PropertyTableTest, ShortOptionsAreUnique) {
  std::set<std::string> seen;
  for (const Property& property : properties()) {
    if (!property.short_options.empty()) {
      EXPECT_TRUE(seen.insert(property.short_options).second) << property.name;
    }
  }
  EXPECT_EQ(named("model_name").short_options, "-m,--model");
  EXPECT_EQ(named("model_max_length").short_options, "-l,--length,--seq");
  EXPECT_EQ(named("batch_size").short_options, "-b,--batch");
  EXPECT_EQ(named("number_gpus").short_options, "-g,--gpus");
}

}  // namespace
}  // namespace tunebench::experiment
