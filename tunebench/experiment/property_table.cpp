// The table itself. Names, defaults and domains of the reference system are those of its
// SFTTrainer plugin 1.8.12 (github.com/IBM/ado); where a list there is closed although more is
// possible (GPU models, dataset paths), it is open here.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tunebench/experiment/property.h"
#include "tunebench/experiment/trainer_rules.h"
#include "tunebench/model/model_source.h"

namespace tunebench::experiment {
namespace {

using Table = std::vector<Property>;

std::vector<std::string> lora_methods() {
  return {"lora", "gptq-lora"};
}

Domain one_of(std::vector<Json> values) {
  return {.values = std::move(values)};
}

Domain one_of_or_other(std::vector<Json> values) {
  return {.values = std::move(values), .open = true};
}

/// lower, lower + 1, ... below upper.
Domain whole(double lower, double upper) {
  return {.lower = lower, .upper = upper, .interval = 1.0};
}

Domain at_least(double lower) {
  return {.lower = lower};
}

/// Both ends allowed.
Domain between(double lower, double highest) {
  return {.lower = lower,
          .upper = std::nextafter(highest, std::numeric_limits<double>::infinity())};
}

std::vector<Json> model_names() {
  std::vector<Json> names;
  const auto add = [&names](const std::string& name) {
    if (std::ranges::find(names, Json(name)) == names.end()) {
      names.emplace_back(name);
    }
  };
  for (const model::Preset& preset : model::presets()) {
    add(preset.name);
  }
  for (const model::KnownModel& known : model::known_models()) {
    add(known.name);
  }
  return names;
}

std::vector<Json> trainer_names() {
  std::vector<Json> names;
  for (const TrainerRules& rules : trainer_rules()) {
    names.emplace_back(rules.name);
  }
  return names;
}

std::vector<Json> dataset_names() {
  std::vector<Json> names;
  for (const char* characters : {"512", "1024", "2048"}) {
    for (const char* entries : {"256", "1024", "4096"}) {
      names.emplace_back(std::string("news-chars-") + characters + "-entries-" + entries);
    }
  }
  for (const char* name :
       {"news-tokens-16384plus-entries-4096", "news-tokens-128kplus-entries-4096",
        "news-tokens-128kplus-entries-320", "vision-384x384-16384plus-entries-4096",
        "vision-384x768-16384plus-entries-4096"}) {
    names.emplace_back(name);
  }
  return names;
}

void add_required(Table& table) {
  table.push_back(
      {.name = "model_name",
       .type = ValueType::String,
       .domain = one_of_or_other(model_names()),
       .required = true,
       .native = true,
       .short_options = "-m,--model",
       .help =
           "model: a preset (random weights), the path of a Hugging Face folder, or org/name of "
           "the Hugging Face cache"});
  table.push_back({.name = "model_max_length",
                   .type = ValueType::Integer,
                   .domain = whole(1, 131073),
                   .required = true,
                   .native = true,
                   .short_options = "-l,--length,--seq",
                   .unit = "tokens",
                   .help = "samples are cut to this many tokens"});
  table.push_back({.name = "batch_size",
                   .type = ValueType::Integer,
                   .domain = whole(1, 4097),
                   .required = true,
                   .native = true,
                   .short_options = "-b,--batch",
                   .unit = "samples",
                   .help = "samples of one micro-batch, over all devices together"});
  table.push_back({.name = "number_gpus",
                   .type = ValueType::Integer,
                   .domain = whole(0, 33),
                   .default_value = 0,
                   .native = true,
                   .short_options = "-g,--gpus",
                   .unit = "GPUs",
                   .help = "GPUs over all nodes together; 0 trains on the CPU (the reference "
                           "system has no default here)"});
}

void add_data_and_length(Table& table) {
  table.push_back({.name = "dataset_id",
                   .type = ValueType::String,
                   .domain = one_of_or_other(dataset_names()),
                   .default_value = "news-tokens-16384plus-entries-4096",
                   .native = true,
                   .short_options = "--dataset",
                   .help = "synthetic dataset, or the path of a JSON lines file"});
  table.push_back(
      {.name = "gpu_model",
       .type = ValueType::String,
       .domain = one_of_or_other({Json(), "NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-80GB-PCIe",
                                  "Tesla-T4", "L40S", "Tesla-V100-PCIE-16GB", "NVIDIA-H100-PCIe",
                                  "NVIDIA-H100-80GB-HBM3"}),
       .help = "GPU model to ask for"});
  table.push_back({.name = "torch_dtype",
                   .type = ValueType::String,
                   .domain = one_of({"bfloat16", "float16", "float32"}),
                   .default_value = "bfloat16",
                   .native = true,
                   .help = "weights are rounded to this type when loaded; a CPU computes in "
                           "float32 whatever it is"});
  table.push_back({.name = "gradient_checkpointing",
                   .type = ValueType::Boolean,
                   .domain = one_of({false, true}),
                   .default_value = true,
                   .native = true,
                   .help = "allow rebuilding activations in backward to save memory"});
  table.push_back({.name = "gradient_accumulation_steps",
                   .type = ValueType::Integer,
                   .domain = whole(1, 33),
                   .default_value = 4,
                   .native = true,
                   .unit = "micro-batches",
                   .help = "micro-batches of one optimizer step"});
  table.push_back({.name = "max_steps",
                   .type = ValueType::Integer,
                   .domain = whole(-1, 10001),
                   .default_value = -1,
                   .native = true,
                   .unit = "steps",
                   .help = "end after this many optimizer steps, whatever num_train_epochs says; "
                           "0 or less: no such bound"});
  table.push_back({.name = "num_train_epochs",
                   .type = ValueType::Real,
                   .domain = whole(1, 10001),
                   .default_value = 1.0,
                   .native = true,
                   .unit = "epochs",
                   .help = "passes over the dataset"});
  table.push_back({.name = "stop_after_seconds",
                   .type = ValueType::Real,
                   .domain = whole(-1, 1000001),
                   .default_value = -1.0,
                   .native = true,
                   .unit = "s",
                   .help = "end after the first step that ends this long after training began; "
                           "below 0: no such bound"});
  table.push_back({.name = "auto_stop_method",
                   .type = ValueType::String,
                   .domain = one_of({Json(), "WARMUP_60S_STABLE_120S_OR_10_STEPS"}),
                   .native = true,
                   .help = "leave out the steps of the first 60 s, then stop once 120 s and 10 "
                           "steps are timed; null: the rules of docs/metrics.md"});
}

void add_distribution(Table& table) {
  table.push_back({.name = "distributed_backend",
                   .type = ValueType::String,
                   .domain = one_of({"DDP", "FSDP", "None"}),
                   .default_value = "FSDP",
                   .native = true,
                   .help = "how several GPUs share the work; below 2 GPUs it means nothing"});
  table.push_back({.name = "number_nodes",
                   .type = ValueType::Integer,
                   .domain = whole(1, 9),
                   .default_value = 1,
                   .unit = "nodes",
                   .help = "machines that share the GPUs"});
  table.push_back(
      {.name = "fms_hf_tuning_version",
       .type = ValueType::String,
       .domain = one_of({"2.0.1", "2.1.0", "2.1.1", "2.1.2", "2.2.1", "2.3.1", "2.4.0", "2.5.0",
                         "2.6.0", "2.7.1", "2.8.2", "3.0.0", "3.0.0.1", "3.1.0", "3.2.2"}),
       .default_value = "2.1.2",
       .help = "version of fms-hf-tuning, for the trainer of that name"});
  table.push_back({.name = "enable_roce",
                   .type = ValueType::Boolean,
                   .domain = one_of({false, true}),
                   .default_value = false,
                   .help = "RDMA over Ethernet between nodes"});
}

void add_kernels_and_lora(Table& table) {
  table.push_back({.name = "fast_moe",
                   .type = ValueType::Integer,
                   .domain = whole(0, 33),
                   .default_value = 0,
                   .help = "expert-parallel degree of mixture-of-experts kernels; 0: off"});
  table.push_back({.name = "fast_kernels",
                   .type = ValueType::StringList,
                   .domain = one_of({Json(), Json::array({"True", "True", "True"})}),
                   .help = "fused kernels for loss, RMS norm and rotary positions"});
  table.push_back({.name = "r",
                   .type = ValueType::Integer,
                   .domain = whole(1, 33),
                   .default_value = 4,
                   .native = true,
                   .methods = lora_methods(),
                   .help = "rank of LoRA"});
  table.push_back({.name = "lora_alpha",
                   .type = ValueType::Integer,
                   .domain = whole(1, 33),
                   .default_value = 16,
                   .native = true,
                   .methods = lora_methods(),
                   .help = "scale of LoRA: what is added is multiplied with lora_alpha / r"});
  table.push_back(
      {.name = "optim",
       .type = ValueType::String,
       .domain = one_of({"adamw_hf",
                         "adamw_torch",
                         "adamw_torch_fused",
                         "adamw_torch_xla",
                         "adamw_torch_npu_fused",
                         "adamw_apex_fused",
                         "adafactor",
                         "adamw_anyprecision",
                         "adamw_torch_4bit",
                         "ademamix",
                         "sgd",
                         "adagrad",
                         "adamw_bnb_8bit",
                         "adamw_8bit",
                         "ademamix_8bit",
                         "lion_8bit",
                         "lion_32bit",
                         "paged_adamw_32bit",
                         "paged_adamw_8bit",
                         "paged_ademamix_32bit",
                         "paged_ademamix_8bit",
                         "paged_lion_32bit",
                         "paged_lion_8bit",
                         "rmsprop",
                         "rmsprop_bnb",
                         "rmsprop_bnb_8bit",
                         "rmsprop_bnb_32bit",
                         "galore_adamw",
                         "galore_adamw_8bit",
                         "galore_adafactor",
                         "galore_adamw_layerwise",
                         "galore_adamw_8bit_layerwise",
                         "galore_adafactor_layerwise",
                         "lomo",
                         "adalomo",
                         "grokadamw",
                         "schedule_free_adamw",
                         "schedule_free_sgd"}),
       .default_value = "adamw_torch",
       .native = true,
       .help = "optimizer; trainer native has adamw_torch and adamw_torch_fused, which are the "
               "same arithmetic"});
}

void add_precision_and_sharding(Table& table) {
  const auto boolean = [&table](const char* name, bool default_value, const char* help) {
    table.push_back({.name = name,
                     .type = ValueType::Boolean,
                     .domain = one_of({false, true}),
                     .default_value = default_value,
                     .help = help});
  };
  const auto choice = [&table](const char* name, std::vector<Json> values, Json default_value,
                               const char* help) {
    table.push_back({.name = name,
                     .type = ValueType::String,
                     .domain = one_of(std::move(values)),
                     .default_value = std::move(default_value),
                     .help = help});
  };
  boolean("bf16", false, "mixed precision with bfloat16");
  boolean("gradient_checkpointing_use_reentrant", false,
          "PyTorch's older form of gradient checkpointing");
  boolean("flash_attn", true,
          "attention that never stores the whole score matrix; trainer native always does that");
  choice("fsdp_sharding_strategy",
         {"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"},
         "FULL_SHARD", "what FSDP splits over GPUs");
  choice("fsdp_state_dict_type", {"FULL_STATE_DICT", "LOCAL_STATE_DICT", "SHARDED_STATE_DICT"},
         "FULL_STATE_DICT", "how FSDP saves");
  boolean("fsdp_use_orig_params", true, "FSDP keeps the original parameters");
  choice("accelerate_config_mixed_precision", {"no", "fp16", "bf16", "fp8"}, "no",
         "mixed precision of accelerate");
  choice("accelerate_config_fsdp_transformer_layer_cls_to_wrap",
         {Json(), "GraniteDecoderLayer", "LlamaDecoderLayer", "MistralDecoderLayer", "GPTJBlock",
          "T5Block"},
         Json(), "layer class that FSDP wraps");
}

void add_dataset_reading(Table& table) {
  table.push_back({.name = "dataset_text_field",
                   .type = ValueType::String,
                   .domain = one_of_or_other({"output", "messages"}),
                   .default_value = "output",
                   .native = true,
                   .help = "field of each JSON line that holds the text"});
  table.push_back({.name = "dataset_image_field",
                   .type = ValueType::String,
                   .domain = one_of({Json(), "images"}),
                   .help = "field that holds the images"});
  table.push_back({.name = "remove_unused_columns",
                   .type = ValueType::Boolean,
                   .domain = one_of({false, true}),
                   .default_value = true,
                   .help = "drop the fields that the model does not read"});
  table.push_back({.name = "dataset_kwargs_skip_prepare_dataset",
                   .type = ValueType::Boolean,
                   .domain = one_of({false, true}),
                   .default_value = false,
                   .help = "give the dataset to the trainer unprepared"});
}

void add_ours(Table& table) {
  const auto add = [&table](Property property) {
    property.native = true;
    property.ado = false;
    table.push_back(std::move(property));
  };
  add({.name = "trainer",
       .type = ValueType::String,
       .domain = one_of(trainer_names()),
       .default_value = "native",
       .help = "what trains; tunebench trainers lists them"});
  add({.name = "learning_rate",
       .type = ValueType::Real,
       .domain = at_least(0),
       .default_value = 1e-5,
       .help = "peak of the learning rate"});
  add({.name = "weight_decay",
       .type = ValueType::Real,
       .domain = at_least(0),
       .default_value = 0.0,
       .help = "decoupled weight decay of AdamW"});
  add({.name = "warmup_ratio",
       .type = ValueType::Real,
       .domain = between(0, 1),
       .default_value = 0.03,
       .help = "share of the steps in which the learning rate rises from 0"});
  add({.name = "lr_scheduler_type",
       .type = ValueType::String,
       .domain = one_of({"cosine", "linear", "constant"}),
       .default_value = "cosine",
       .help = "course of the learning rate after its rise"});
  add({.name = "max_grad_norm",
       .type = ValueType::Real,
       .domain = at_least(0),
       .default_value = 1.0,
       .help = "gradients are scaled down to this 2-norm; 0: never"});
  add({.name = "seed",
       .type = ValueType::Integer,
       .domain = at_least(0),
       .default_value = 1,
       .help = "seed of random weights"});
  add({.name = "response_template",
       .type = ValueType::String,
       .domain = one_of_or_other({Json()}),
       .help = "train only what follows the last occurrence of this text; null: every token"});
  add({.name = "memory_limit_gib",
       .type = ValueType::Real,
       .domain = at_least(0),
       .default_value = 0.0,
       .unit = "GiB",
       .help = "memory the trainer may plan with; 0: what the machine has for this process"});
}

/// Ours, of one method each.
void add_methods(Table& table) {
  const auto add_lora = [&table](Property property) {
    property.native = true;
    property.ado = false;
    property.methods = lora_methods();
    property.later = true;
    table.push_back(std::move(property));
  };
  add_lora({.name = "target_modules",
            .type = ValueType::String,
            .domain = one_of_or_other({Json(), "all-linear"}),
            .help = "projections that LoRA adapts: names with spaces between, all-linear, or a "
                    "regular expression over whole names; null: those of the reference system, "
                    "for other models queries and values"});
  add_lora({.name = "lora_dropout",
            .type = ValueType::Real,
            .domain = between(0, 0.99),
            .default_value = 0.05,
            .help = "share of the elements that LoRA's input drops"});
  add_lora({.name = "use_rslora",
            .type = ValueType::Boolean,
            .domain = one_of({false, true}),
            .default_value = false,
            .help = "rank-stabilised LoRA: the scale is lora_alpha / sqrt(r)"});
  add_lora({.name = "lora_bias",
            .type = ValueType::String,
            .domain = one_of({"none", "all", "lora_only"}),
            .default_value = "none",
            .help = "biases that are trained, too: none, all of the model, or of the adapted "
                    "projections"});
  add_lora({.name = "modules_to_save",
            .type = ValueType::String,
            .domain = one_of_or_other({Json()}),
            .help = "modules that are trained whole beside the adapter: names with spaces "
                    "between, such as lm_head"});
}

/// Defaults are those of fms-hf-tuning, which the reference system leaves alone.
void add_prompt_tuning(Table& table) {
  const auto add = [&table](Property property) {
    property.native = true;
    property.ado = false;
    property.methods = {"pt"};
    property.later = true;
    table.push_back(std::move(property));
  };
  add({.name = "num_virtual_tokens",
       .type = ValueType::Integer,
       .domain = whole(1, 4097),
       .default_value = 8,
       .unit = "tokens",
       .help = "rows that prompt tuning trains before the tokens of each sample"});
  add({.name = "prompt_tuning_init",
       .type = ValueType::String,
       .domain = one_of({"TEXT", "RANDOM", "SAMPLE_VOCAB"}),
       .default_value = "TEXT",
       .help = "what those rows begin as: embedded tokens of a text, normal numbers, embedded "
               "tokens that are drawn"});
  add({.name = "prompt_tuning_init_text",
       .type = ValueType::String,
       .domain = one_of_or_other({"Classify if the tweet is a complaint or not:"}),
       .default_value = "Classify if the tweet is a complaint or not:",
       .help = "text of prompt_tuning_init TEXT, cut or repeated to num_virtual_tokens"});
}

Table make_table() {
  Table table;
  add_required(table);
  add_data_and_length(table);
  add_distribution(table);
  add_kernels_and_lora(table);
  add_precision_and_sharding(table);
  add_dataset_reading(table);
  add_ours(table);
  add_methods(table);
  add_prompt_tuning(table);
  return table;
}

}  // namespace

const std::vector<Property>& properties() {
  static const Table kTable = make_table();
  return kTable;
}

const Property* find_property(std::string_view name) {
  std::string wanted(name);
  std::ranges::replace(wanted, '-', '_');
  const Table& table = properties();
  const auto found = std::ranges::find(table, wanted, &Property::name);
  return found == table.end() ? nullptr : &*found;
}

}  // namespace tunebench::experiment
