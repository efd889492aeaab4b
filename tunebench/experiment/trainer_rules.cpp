#include "tunebench/experiment/trainer_rules.h"

#include <algorithm>

namespace tunebench::experiment {
namespace {

/// What every trainer of a model folder reads: the work itself, and how long it lasts, which the
/// controller decides.
std::vector<std::string> common_properties() {
  return {"model_name",
          "model_max_length",
          "batch_size",
          "number_gpus",
          "dataset_id",
          "dataset_text_field",
          "torch_dtype",
          "gradient_checkpointing",
          "gradient_checkpointing_use_reentrant",
          "gradient_accumulation_steps",
          "max_steps",
          "num_train_epochs",
          "stop_after_seconds",
          "auto_stop_method",
          "distributed_backend",
          "r",
          "lora_alpha",
          "optim",
          "bf16",
          "flash_attn",
          "trainer",
          "learning_rate",
          "weight_decay",
          "warmup_ratio",
          "lr_scheduler_type",
          "max_grad_norm",
          "seed"};
}

std::vector<std::string> with(std::vector<std::string> names,
                              const std::vector<std::string>& more) {
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

/// Those of transformers that need no package beyond PyTorch.
const std::vector<Json>& torch_optimizers() {
  static const std::vector<Json> kNames{"adamw_torch", "adamw_torch_fused", "adafactor",
                                        "sgd",         "adagrad",           "rmsprop"};
  return kNames;
}

TrainerRules hf_rules() {
  return {.name = "hf",
          .help = "Hugging Face transformers Trainer, with PEFT and TRL",
          .needs_folder = true,
          .methods = {"full", "lora", "pt", "dpo", "orpo", "reward"},
          .honoured = common_properties(),
          .only = {{"optim", torch_optimizers()}, {"dataset_text_field", {"output", "text"}}}};
}

TrainerRules fms_hf_tuning_rules() {
  return {.name = "fms-hf-tuning",
          .help = "fms-hf-tuning's sft_trainer, the trainer of the reference system",
          .needs_folder = true,
          .methods = {"full", "lora", "pt"},
          .honoured = with(
              common_properties(),
              {"fms_hf_tuning_version", "response_template", "gpu_model", "remove_unused_columns",
               "dataset_kwargs_skip_prepare_dataset", "fsdp_sharding_strategy",
               "fsdp_state_dict_type", "accelerate_config_mixed_precision",
               "accelerate_config_fsdp_transformer_layer_cls_to_wrap"}),
          .only = {{"optim", torch_optimizers()}, {"fms_hf_tuning_version", {"3.2.2"}}}};
}

/// Every method that there is, for what plays or is told it.
std::vector<std::string> outside_methods() {
  return {"full", "lora", "pt", "adapter", "adapter_v2", "dpo", "orpo", "reward"};
}

/// What trainers with a loop of their own read, which train on one device.
std::vector<std::string> plain_loop_properties() {
  std::vector<std::string> names = common_properties();
  std::erase(names, "gradient_checkpointing_use_reentrant");
  return names;
}

TrainerRules litgpt_rules() {
  return {.name = "litgpt",
          .help = "LitGPT's fine-tuning scripts",
          .needs_folder = true,
          .methods = {"full", "lora", "adapter", "adapter_v2"},
          .honoured = plain_loop_properties(),
          .only = {{"optim", {"adamw_torch", "adamw_torch_fused"}},
                   {"dataset_text_field", {"output", "text"}},
                   {"torch_dtype", {"float32", "bfloat16"}},
                   {"lr_scheduler_type", {"cosine"}},
                   {"flash_attn", {true}},
                   {"number_gpus", {0, 1}}}};
}

TrainerRules torchtune_rules() {
  return {.name = "torchtune",
          .help = "torchtune's fine-tuning recipes",
          .needs_folder = true,
          .methods = {"full", "lora"},
          .honoured = plain_loop_properties(),
          .only = {{"optim", {"adamw_torch", "adamw_torch_fused"}},
                   {"dataset_text_field", {"output", "text"}},
                   {"torch_dtype", {"float32", "bfloat16"}},
                   {"bf16", {false}},
                   {"lr_scheduler_type", {"cosine"}},
                   {"flash_attn", {true}},
                   {"number_gpus", {0, 1}}}};
}

}  // namespace

const std::vector<TrainerRules>& trainer_rules() {
  static const std::vector<TrainerRules> kTable{
      {.name = "native", .help = "tunebench's own engine", .methods = {"full", "lora", "pt"}},
      {.name = "simulated",
       .help = "plays the model of --simulation and trains nothing",
       .takes_all = true,
       .any_gpus = true,
       .methods = outside_methods()},
      {.name = "command",
       .help = "any program that writes the step protocol: --trainer command -- PROGRAM ARGS",
       .takes_all = true,
       .methods = outside_methods()},
      hf_rules(),
      fms_hf_tuning_rules(),
      litgpt_rules(),
      torchtune_rules()};
  return kTable;
}

const TrainerRules* find_trainer_rules(std::string_view name) {
  const std::vector<TrainerRules>& table = trainer_rules();
  const auto found = std::ranges::find(table, name, &TrainerRules::name);
  return found == table.end() ? nullptr : &*found;
}

std::vector<std::string> trainers_for(std::string_view method) {
  std::vector<std::string> names;
  for (const TrainerRules& rules : trainer_rules()) {
    if (std::ranges::find(rules.methods, method) != rules.methods.end()) {
      names.push_back(rules.name);
    }
  }
  return names;
}

}  // namespace tunebench::experiment
