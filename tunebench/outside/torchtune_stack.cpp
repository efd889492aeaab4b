#include <algorithm>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/outside/llama_shape.h"
#include "tunebench/outside/stack.h"
#include "tunebench/outside/yaml_text.h"

namespace tunebench::outside {
namespace {

/// Its scaled rotary positions have Llama 3's numbers built in but for the factor.
void check_scaling(const model::RopeScaling& scaling) {
  constexpr std::int64_t kOriginalPositions = 8192;
  const bool built_in = scaling.low_freq_factor == 1.0 && scaling.high_freq_factor == 4.0 &&
                        scaling.original_max_positions == kOriginalPositions;
  if (scaling.type == model::RopeScaling::Type::Llama3 && !built_in) {
    throw Error(ErrorCode::Unsupported,
                "trainer torchtune scales rotary positions with Llama 3's own numbers only");
  }
}

Json model_part(const LaunchContext& context) {
  const experiment::Point& point = context.job.point;
  const model::ModelSpec& spec = *context.spec;
  const bool lora = method_of(point) == "lora";
  const bool scaled = spec.rope_scaling.type == model::RopeScaling::Type::Llama3;
  Json part = Json::object({{"_component_", lora ? "torchtune.models.llama3_2.lora_llama3_2"
                                                 : "torchtune.models.llama3_2.llama3_2"},
                            {"vocab_size", spec.vocabulary},
                            {"num_layers", spec.layers},
                            {"num_heads", spec.heads},
                            {"num_kv_heads", spec.kv_heads},
                            {"embed_dim", spec.width},
                            {"max_seq_len", spec.max_positions},
                            {"rope_base", static_cast<std::int64_t>(spec.rope_theta)},
                            {"intermediate_dim", spec.feed_forward},
                            {"norm_eps", spec.norm_epsilon},
                            // 1 leaves the positions as they are.
                            {"scale_factor", scaled ? spec.rope_scaling.factor : 1.0},
                            {"tie_word_embeddings", spec.tied_head}});
  if (!lora) {
    return part;
  }
  Json modules = Json::array();
  for (const std::string& module : lora_modules(point)) {
    if (module != "q_proj" && module != "k_proj" && module != "v_proj" && module != "o_proj") {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("trainer torchtune has no module '{}' for LoRA", printable(module)));
    }
    modules.push_back(module == "o_proj" ? "output_proj" : module);
  }
  part.set("lora_attn_modules", std::move(modules));
  part.set("apply_lora_to_mlp", false);
  part.set("apply_lora_to_output", false);
  part.set("lora_rank", point.integer("r"));
  part.set("lora_alpha", point.integer("lora_alpha"));
  part.set("lora_dropout", kLoraDropout);
  return part;
}

Json optimizer_part(const experiment::Point& point) {
  Json part = Json::object({{"_component_", "torch.optim.AdamW"},
                            {"lr", point.real("learning_rate")},
                            {"weight_decay", point.real("weight_decay")}});
  if (point.text("optim") == "adamw_torch_fused") {
    part.set("fused", true);
  }
  return part;
}

/// Weights in any number of files, as the folder's index names them.
Json checkpoint_part(const LaunchContext& context) {
  Json files = Json::array();
  for (const std::string& name : context.weight_files) {
    files.push_back(name);
  }
  return Json::object({{"_component_", "tunebench_torchtune.NoSave"},
                       {"checkpoint_dir", context.model_folder.string()},
                       {"checkpoint_files", std::move(files)},
                       {"recipe_checkpoint", nullptr},
                       {"output_dir", (context.folder / "output").string()},
                       {"model_type", context.spec->tied_head ? "LLAMA3_2" : "LLAMA3"}});
}

Json torchtune_config(const LaunchContext& context) {
  const experiment::Point& point = context.job.point;
  const std::int64_t steps = context.job.planned_steps;
  const std::int64_t batch = trainer::device_batch_size(point);
  const std::int64_t accumulation = point.integer("gradient_accumulation_steps");
  const double norm = point.real("max_grad_norm");
  Json config = Json::object(
      {{"output_dir", (context.folder / "output").string()},
       {"model", model_part(context)},
       {"tokenizer", Json::object({{"_component_", "tunebench_torchtune.Tokenizer"},
                                   {"path", context.model_folder.string()},
                                   {"max_seq_len", point.integer("model_max_length")}})},
       {"dataset", Json::object({{"_component_", "tunebench_torchtune.Texts"},
                                 {"path", context.data_file.string()},
                                 {"field", context.text_field},
                                 {"rows", context.rows},
                                 {"samples", steps * batch * accumulation}})},
       {"collate_fn", "tunebench_torchtune.collate"},
       {"seed", point.integer("seed")},
       {"shuffle", false},
       {"checkpointer", checkpoint_part(context)},
       {"resume_from_checkpoint", false},
       {"batch_size", batch},
       {"epochs", 1},
       {"optimizer", optimizer_part(point)},
       {"lr_scheduler",
        Json::object(
            {{"_component_", "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup"},
             {"num_warmup_steps", warmup_steps_of(point, steps)}})},
       {"loss", Json::object({{"_component_", "torchtune.modules.loss.CEWithChunkedOutputLoss"}})},
       {"max_steps_per_epoch", steps},
       {"gradient_accumulation_steps", accumulation},
       // Without a bound it tells no norm.
       {"clip_grad_norm", norm > 0 ? Json(norm) : Json("inf")},
       {"compile", false},
       {"device", device_of(point)},
       {"dtype", point.text("torch_dtype") == "bfloat16" ? "bf16" : "fp32"},
       {"enable_activation_checkpointing", point.boolean("gradient_checkpointing")},
       {"enable_activation_offloading", false},
       {"metric_logger", Json::object({{"_component_", "tunebench_torchtune.Steps"}})},
       {"log_every_n_steps", 1},
       {"log_peak_memory_stats", false},
       {"profiler", Json::object({{"_component_", "torchtune.training.setup_torch_profiler"},
                                  {"enabled", false}})}});
  if (method_of(point) == "lora") {
    config.set("save_adapter_weights_only", true);
  } else {
    config.set("optimizer_in_bwd", false);
  }
  return config;
}

class TorchtuneStack final : public Stack {
 public:
  [[nodiscard]] std::string name() const override { return "torchtune"; }
  [[nodiscard]] const EnvironmentSpec* environment() const override {
    return find_environment_spec("torchtune");
  }
  [[nodiscard]] std::string version() const override { return version_with_lock(*environment()); }

  [[nodiscard]] Launch launch(const LaunchContext& context) const override {
    const experiment::Point& point = context.job.point;
    check_llama_shape(*context.spec, "torchtune");
    check_scaling(context.spec->rope_scaling);
    if (context.spec->head_width * context.spec->heads != context.spec->width) {
      throw Error(ErrorCode::Unsupported,
                  "trainer torchtune takes the width of a head for width / heads, and this model's "
                  "is another");
    }
    const bool lora = method_of(point) == "lora";
    Launch launch;
    launch.argv = {context.python.string(),
                   "-m",
                   "torchtune._cli.tune",
                   "run",
                   lora ? "lora_finetune_single_device" : "full_finetune_single_device",
                   "--config",
                   (context.folder / "torchtune.yaml").string()};
    launch.files = {{"torchtune.yaml", yaml_text(torchtune_config(context))}};
    return launch;
  }

  [[nodiscard]] trainer::Expected expected(const experiment::Point& point) const override {
    return {.ranks = 1, .device = device_of(point), .exit_s = kPythonExitS};
  }
};

}  // namespace

std::unique_ptr<Stack> make_torchtune_stack() {
  return std::make_unique<TorchtuneStack>();
}

}  // namespace tunebench::outside
