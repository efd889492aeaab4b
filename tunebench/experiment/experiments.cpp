// The five experiments of the reference system. Source: github.com/IBM/ado, SFTTrainer plugin
// 1.8.12: experiments/*.py, and config/models.yaml for the LoRA target modules.
#include <algorithm>

#include "tunebench/experiment/experiment.h"

namespace tunebench::experiment {
namespace {

constexpr std::string_view kVersionSuffix = "-v1.0.0";

std::vector<std::string> benchmark_properties() {
  return {"is_valid",
          "dataset_tokens_per_second_per_gpu",
          "train_runtime",
          "dataset_tokens_per_second",
          "train_samples_per_second",
          "train_steps_per_second",
          "train_tokens_per_second",
          "train_tokens_per_gpu_per_second",
          "cpu_compute_utilization",
          "cpu_memory_utilization",
          "gpu_compute_utilization_min",
          "gpu_compute_utilization_avg",
          "gpu_compute_utilization_max",
          "gpu_memory_utilization_min",
          "gpu_memory_utilization_avg",
          "gpu_memory_utilization_max",
          "gpu_memory_utilization_peak",
          "gpu_power_watts_min",
          "gpu_power_watts_avg",
          "gpu_power_watts_max",
          "gpu_power_percent_min",
          "gpu_power_percent_avg",
          "gpu_power_percent_max"};
}

using Parameters = std::vector<std::pair<std::string, Json>>;

/// What every experiment holds fixed. Learning rate, decay, warm-up, schedule and LoRA's dropout
/// are inputs here, with the reference system's fixed values as their defaults.
Parameters common_parameters(const char* peft_method, const char* purpose,
                             const char* weights_format) {
  return {{"peft_method", peft_method}, {"purpose", purpose},    {"weights_format", weights_format},
          {"packing", false},           {"eval_strategy", "no"}, {"save_strategy", "no"}};
}

void add_modules(Json& map, const Json::Array& modules, std::initializer_list<const char*> models) {
  for (const char* model : models) {
    map.set(model, Json::array(modules));
  }
}

Json lora_target_modules() {
  Json map = Json::object();
  add_modules(map, {"q_proj", "v_proj"},
              {"smollm2-135m",
               "granite-3b-code-base-128k",
               "granite-8b-code-base-128k",
               "granite-8b-code-base",
               "granite-8b-japanese",
               "llama2-70b",
               "llama3.1-8b",
               "llama3.1-70b",
               "mistral-123b-v2",
               "granite-3-8b",
               "granite-3.1-2b",
               "granite-3.1-8b-instruct",
               "granite-3.1-3b-a800m-instruct",
               "granite-vision-3.2-2b",
               "llava-v1.6-mistral-7b",
               "granite-7b-base",
               "llama3-70b",
               "llama3.1-405b",
               "mistral-7b-v0.1",
               "mixtral-8x7b-instruct-v0.1",
               "allam-1-13b",
               "granite-3.0-1b-a400m-base",
               "granite-3.3-8b",
               "granite-4.0-350m",
               "granite-4.0-h-1b",
               "granite-4.0-h-micro",
               "granite-4.0-h-small",
               "granite-4.0-h-tiny",
               "granite-4.0-micro",
               "llama3.2-1b",
               "llama3.2-3b"});
  add_modules(map, {"q_proj", "k_proj"}, {"llama-7b", "llama-13b", "llama3-8b"});
  add_modules(map, {"c_attn", "c_proj"},
              {"granite-20b-v2", "granite-34b-code-base", "granite-13b-v2"});
  add_modules(map, {"dense_h_to_4h", "dense_4h_to_4h"},
              {"hf-tiny-model-private/tiny-random-BloomForCausalLM"});
  return map;
}

Json gptq_lora_target_modules() {
  Json map = Json::object();
  add_modules(map, {"q_proj", "v_proj"},
              {"granite-7b-base", "llama3-70b", "llama3.1-405b", "mistral-7b-v0.1",
               "mixtral-8x7b-instruct-v0.1", "allam-1-13b", "granite-8b-code-instruct"});
  add_modules(map, {"q_proj", "k_proj"}, {"llama-7b"});
  add_modules(map, {"c_attn", "c_proj"}, {"granite-20b-v2", "granite-34b-code-base"});
  return map;
}

Experiment full_benchmark() {
  return {.id = "finetune_full_benchmark-v1.0.0",
          .description = "full fine-tuning: how fast, how much memory",
          .method = "full",
          .purpose = "Performance",
          .weights_format = "Vanilla",
          .fixed = common_parameters("full", "Performance", "Vanilla"),
          .measured = benchmark_properties(),
          .runnable = true};
}

Experiment full_stability() {
  Parameters fixed = common_parameters("full", "Stability", "Vanilla");
  fixed.emplace_back("max_steps", 5);
  return {.id = "finetune_full_stability-v1.0.0",
          .description = "full fine-tuning, five short runs: how often it fails, and why",
          .method = "full",
          .purpose = "Stability",
          .weights_format = "Vanilla",
          .fixed = std::move(fixed),
          .measured = {"f_gpu_oom", "f_host_oom", "f_other_error", "f_no_error", "is_valid"},
          .runnable = true};
}

Experiment lora_benchmark() {
  Parameters fixed = common_parameters("lora", "Performance", "Vanilla");
  fixed.emplace_back("target_modules_map", lora_target_modules());
  return {.id = "finetune_lora_benchmark-v1.0.0",
          .description = "LoRA: how fast, how much memory",
          .method = "lora",
          .purpose = "Performance",
          .weights_format = "Vanilla",
          .fixed = std::move(fixed),
          .measured = benchmark_properties(),
          .runnable = true};
}

Experiment prompt_tuning_benchmark() {
  return {.id = "finetune_pt_benchmark-v1.0.0",
          .description = "prompt tuning: how fast, how much memory",
          .method = "pt",
          .purpose = "Performance",
          .weights_format = "Vanilla",
          .fixed = common_parameters("pt", "Performance", "Vanilla"),
          .measured = benchmark_properties(),
          .runnable = true};
}

Experiment gptq_lora_benchmark() {
  Parameters fixed = common_parameters("lora", "Performance", "GPTQ-Quantized");
  fixed.emplace_back("auto_gptq", "triton_v2");
  fixed.emplace_back("fp16", "yes");
  fixed.emplace_back("fused_lora", Json::array({"auto_gptq", "True"}));
  fixed.emplace_back("target_modules_map", gptq_lora_target_modules());
  return {.id = "finetune_gptq-lora_benchmark-v1.0.0",
          .description = "LoRA on 4-bit GPTQ weights: how fast, how much memory",
          .method = "gptq-lora",
          .purpose = "Performance",
          .weights_format = "GPTQ-Quantized",
          .fixed = std::move(fixed),
          .defaults = {{"torch_dtype", "float16"},
                       {"fast_kernels", Json::array({"True", "True", "True"})}},
          .measured = benchmark_properties()};
}

}  // namespace

const std::vector<Experiment>& experiments() {
  static const std::vector<Experiment> kList{full_benchmark(), full_stability(), lora_benchmark(),
                                             prompt_tuning_benchmark(), gptq_lora_benchmark()};
  return kList;
}

const Experiment* find_experiment(std::string_view id) {
  const std::vector<Experiment>& list = experiments();
  const auto found = std::ranges::find_if(list, [id](const Experiment& experiment) {
    const std::string_view full = experiment.id;
    return full == id || full.substr(0, full.size() - kVersionSuffix.size()) == id;
  });
  return found == list.end() ? nullptr : &*found;
}

}  // namespace tunebench::experiment
