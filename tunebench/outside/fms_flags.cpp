#include "tunebench/outside/fms_flags.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/outside/stack.h"
#include "tunebench/trainer/trainer.h"

namespace tunebench::outside {
namespace {

std::string python_real(double value) {
  // Python writes the shortest digits that read back, with an exponent below 1e-4 and from 1e16.
  char buffer[64];
  const double size = std::abs(value);
  const bool scientific = value != 0 && (size < 1e-4 || size >= 1e16);
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value,
                    scientific ? std::chars_format::scientific : std::chars_format::fixed)
          .ptr;
  std::string text(buffer, end);
  return scientific || text.find('.') != std::string::npos ? text : text + ".0";
}

/// Collects flags; a null value is no flag.
class FlagList {
 public:
  void add(const std::string& name, const Json& value) {
    if (value.is_null()) {
      return;
    }
    std::vector<std::string> words;
    if (value.is_array()) {
      for (const Json& one : value.as_array()) {
        words.push_back(python_text(one));
      }
    } else {
      words.push_back(python_text(value));
    }
    flags_.emplace_back(name, std::move(words));
  }
  Flags take() { return std::move(flags_); }

 private:
  Flags flags_;
};

Json words_of(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) {
    list.push_back(text);
  }
  return list;
}

Json fixed_or_null(const experiment::Experiment& experiment, std::string_view name) {
  for (const auto& [fixed, value] : experiment.fixed) {
    if (fixed == name) {
      return value;
    }
  }
  return {};
}

Json template_of(const experiment::Point& point, const FmsPaths& paths) {
  const auto given = point.inputs.find("response_template");
  if (given != point.inputs.end() && !given->second.is_null()) {
    return given->second;
  }
  return paths.data.ends_with(".jsonl") ? Json("\n### Response:") : Json();
}

std::string kwargs(const char* name, bool value) {
  return fmt::format(R"({{"{}": {}}})", name, value ? "true" : "false");
}

void add_common(FlagList& list, const experiment::Point& point, const FmsPaths& paths) {
  list.add("log_level", "info");
  list.add("eval_strategy", "no");
  list.add("save_strategy", "no");
  list.add("learning_rate", point.real("learning_rate"));
  list.add("weight_decay", point.real("weight_decay"));
  list.add("warmup_ratio", point.real("warmup_ratio"));
  list.add("lr_scheduler_type", point.input("lr_scheduler_type"));
  list.add("logging_steps", 1);
  list.add("include_tokens_per_second", true);
  list.add("packing", false);
  list.add("aim_db", paths.work_folder + "/ephemeral_aim");
  list.add("aim_experiment", paths.entity);
  list.add("fms_hf_tuning_version", point.input("fms_hf_tuning_version"));
  list.add("gradient_accumulation_steps", point.input("gradient_accumulation_steps"));
  list.add("gradient_checkpointing", point.input("gradient_checkpointing"));
  list.add("max_steps", point.input("max_steps"));
  list.add("num_train_epochs", point.real("num_train_epochs"));
  list.add("stop_after_seconds", point.real("stop_after_seconds"));
  list.add("auto_stop_method", point.input("auto_stop_method"));
}

void add_model_and_data(FlagList& list, const experiment::Point& point, const FmsPaths& paths) {
  list.add("model_name_or_path", paths.model);
  list.add("per_device_train_batch_size", trainer::device_batch_size(point));
  list.add("torch_dtype", point.input("torch_dtype"));
  list.add("max_seq_length", point.input("model_max_length"));
  list.add("training_data_path", paths.data);
  list.add("output_dir", paths.output);
}

}  // namespace

std::string python_text(const Json& value) {
  if (value.is_bool()) {
    return value.as_bool() ? "True" : "False";
  }
  if (value.is_string()) {
    return value.as_string();
  }
  if (value.kind() == Json::Kind::Real) {
    return python_real(value.as_double());
  }
  return value.is_null() ? "None" : value.dump();
}

Flags reference_flags(const experiment::Point& point, const FmsPaths& paths) {
  const experiment::Experiment& experiment = *experiment::find_experiment(point.experiment);
  const std::string& method = experiment.method;
  const bool adapts = method == "lora" || method == "gptq-lora";
  FlagList list;
  add_common(list, point, paths);
  if (method != "full") {
    list.add("peft_method", adapts ? "lora" : "pt");
  }
  add_model_and_data(list, point, paths);
  list.add("fp16", fixed_or_null(experiment, "fp16"));
  list.add("use_flash_attn", point.input("flash_attn"));
  list.add("r", point.input("r"));
  list.add("lora_alpha", point.input("lora_alpha"));
  list.add("target_modules", words_of(lora_modules(point)));
  list.add("lora_dropout", 0.05);
  list.add("fast_kernels", point.input("fast_kernels"));
  list.add("fused_lora", fixed_or_null(experiment, "fused_lora"));
  list.add("auto_gptq", fixed_or_null(experiment, "auto_gptq"));
  if (point.integer("fast_moe") != 0) {
    list.add("fast_moe", point.input("fast_moe"));
  }
  list.add("optim", point.input("optim"));
  list.add("bf16", point.input("bf16"));
  list.add("dataset_text_field", point.input("dataset_text_field"));
  list.add("dataset_image_field", point.input("dataset_image_field"));
  list.add("remove_unused_columns", point.input("remove_unused_columns"));
  list.add("response_template", template_of(point, paths));
  list.add("dataset_kwargs",
           kwargs("skip_prepare_dataset", point.boolean("dataset_kwargs_skip_prepare_dataset")));
  list.add("gradient_checkpointing_kwargs",
           kwargs("use_reentrant", point.boolean("gradient_checkpointing_use_reentrant")));
  if (method == "full") {
    list.add("peft_method", "none");
  }
  return list.take();
}

Flags fms_flags(const experiment::Point& point, const FmsPaths& paths, std::int64_t steps) {
  static const std::vector<std::string> kWrappersOwn{
      "aim_db", "aim_experiment", "fms_hf_tuning_version", "stop_after_seconds", "auto_stop_method",
      // No argument of the library: it would be dropped without a word.
      "dataset_kwargs"};
  const bool cpu = point.integer("number_gpus") == 0;
  Flags flags = reference_flags(point, paths);
  std::erase_if(flags, [](const auto& flag) {
    return std::ranges::find(kWrappersOwn, flag.first) != kWrappersOwn.end();
  });
  const auto set = [&flags](const std::string& name, const std::string& value) {
    const auto found =
        std::ranges::find(flags, name, &std::pair<std::string, std::vector<std::string>>::first);
    if (found == flags.end()) {
      flags.emplace_back(name, std::vector<std::string>{value});
    } else {
      found->second = {value};
    }
  };
  set("max_steps", std::to_string(steps));
  // Since 3.0 logging_steps alone does nothing.
  set("logging_strategy", "steps");
  set("max_grad_norm", python_text(point.real("max_grad_norm")));
  set("seed", std::to_string(point.integer("seed")));
  if (cpu) {
    set("use_flash_attn", "False");  // there is none for CPUs
    set("use_cpu", "True");
  }
  return flags;
}

std::vector<std::string> flag_words(const Flags& flags) {
  std::vector<std::string> words;
  for (const auto& [name, values] : flags) {
    words.push_back("--" + name);
    words.insert(words.end(), values.begin(), values.end());
  }
  return words;
}

std::string accelerate_config(const experiment::Point& point, std::int64_t processes, int port) {
  const bool fsdp = point.text("distributed_backend") == "FSDP";
  Json config = Json::object({{"compute_environment", "LOCAL_MACHINE"},
                              {"debug", false},
                              {"distributed_type", fsdp ? "FSDP" : "MULTI_GPU"},
                              {"downcast_bf16", "no"},
                              {"machine_rank", 0},
                              {"main_training_function", "main"},
                              {"mixed_precision", point.input("accelerate_config_mixed_precision")},
                              {"num_machines", 1},
                              {"rdzv_backend", "static"},
                              {"same_network", true},
                              {"tpu_env", Json::array()},
                              {"tpu_use_cluster", false},
                              {"tpu_use_sudo", false},
                              {"use_cpu", false},
                              {"main_process_port", port},
                              {"num_processes", processes}});
  if (fsdp) {
    Json details = Json::object({{"fsdp_auto_wrap_policy", "TRANSFORMER_BASED_WRAP"},
                                 {"fsdp_backward_prefetch", "BACKWARD_PRE"},
                                 {"fsdp_forward_prefetch", false},
                                 {"fsdp_offload_params", false},
                                 {"fsdp_sharding_strategy", point.input("fsdp_sharding_strategy")},
                                 {"fsdp_state_dict_type", point.input("fsdp_state_dict_type")},
                                 {"fsdp_cpu_ram_efficient_loading", true},
                                 {"fsdp_sync_module_states", true},
                                 {"fsdp_use_orig_params", true}});
    const Json& layer = point.input("accelerate_config_fsdp_transformer_layer_cls_to_wrap");
    if (!layer.is_null()) {
      details.set("fsdp_transformer_layer_cls_to_wrap", layer);
    }
    config.set("fsdp_config", std::move(details));
  }
  return config.dump(2) + "\n";
}

}  // namespace tunebench::outside
