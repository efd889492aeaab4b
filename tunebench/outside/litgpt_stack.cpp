#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "tunebench/base/error.h"
#include "tunebench/base/text.h"
#include "tunebench/model/model_spec.h"
#include "tunebench/outside/llama_shape.h"
#include "tunebench/outside/stack.h"
#include "tunebench/outside/yaml_text.h"

namespace tunebench::outside {
namespace {

/// Of validation and saving, which are no part of what is measured.
constexpr std::int64_t kNever = 1'000'000'000;

Json litgpt_model(const model::ModelSpec& spec) {
  Json config = Json::object({{"name", "tunebench"},
                              {"block_size", spec.max_positions},
                              {"n_layer", spec.layers},
                              {"n_embd", spec.width},
                              {"vocab_size", spec.vocabulary},
                              {"padded_vocab_size", spec.vocabulary},
                              {"n_head", spec.heads},
                              {"n_query_groups", spec.kv_heads},
                              {"head_size", spec.head_width},
                              {"rotary_percentage", 1.0},
                              {"parallel_residual", false},
                              {"bias", false},
                              {"norm_class_name", "RMSNorm"},
                              {"norm_eps", spec.norm_epsilon},
                              {"mlp_class_name", "LLaMAMLP"},
                              {"intermediate_size", spec.feed_forward},
                              {"rope_base", static_cast<std::int64_t>(spec.rope_theta)}});
  if (spec.rope_scaling.type == model::RopeScaling::Type::Llama3) {
    config.set("rope_adjustments",
               Json::object({{"factor", spec.rope_scaling.factor},
                             {"low_freq_factor", spec.rope_scaling.low_freq_factor},
                             {"high_freq_factor", spec.rope_scaling.high_freq_factor},
                             {"original_max_seq_len", spec.rope_scaling.original_max_positions}}));
  }
  return config;
}

/// "lora_query: true" and so on for the modules of the point. Its projections of the feed-forward
/// half go together.
void add_lora(const experiment::Point& point, Json& config) {
  static constexpr std::array<std::pair<const char*, const char*>, 7> kParts{
      {{"q_proj", "lora_query"},
       {"k_proj", "lora_key"},
       {"v_proj", "lora_value"},
       {"o_proj", "lora_projection"},
       {"gate_proj", "lora_mlp"},
       {"up_proj", "lora_mlp"},
       {"down_proj", "lora_mlp"}}};
  config.set("lora_r", point.integer("r"));
  config.set("lora_alpha", point.integer("lora_alpha"));
  config.set("lora_dropout", kLoraDropout);
  for (const auto& [module, part] : kParts) {
    config.set(part, false);
  }
  for (const std::string& wanted : lora_modules(point)) {
    const auto part = std::ranges::find_if(
        kParts, [&wanted](const auto& known) { return known.first == wanted; });
    if (part == kParts.end()) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("trainer litgpt has no module '{}' for LoRA", printable(wanted)));
    }
    config.set(part->second, true);
  }
}

std::string precision_of(const experiment::Point& point) {
  const bool half = point.text("torch_dtype") == "bfloat16";
  return half ? "bf16-true" : point.boolean("bf16") ? "bf16-mixed" : "32-true";
}

Json optimizer_of(const experiment::Point& point) {
  Json settings = Json::object(
      {{"lr", point.real("learning_rate")}, {"weight_decay", point.real("weight_decay")}});
  if (point.text("optim") == "adamw_torch_fused") {
    settings.set("fused", true);
  }
  return Json::object({{"class_path", "torch.optim.AdamW"}, {"init_args", std::move(settings)}});
}

Json litgpt_config(const LaunchContext& context, const std::filesystem::path& checkpoint) {
  const experiment::Point& point = context.job.point;
  const std::int64_t steps = context.job.planned_steps;
  const std::int64_t micro = trainer::device_batch_size(point);
  const std::int64_t global = micro * point.integer("gradient_accumulation_steps");
  Json config = Json::object(
      {{"checkpoint_dir", checkpoint.string()},
       {"out_dir", (context.folder / "output").string()},
       {"precision", precision_of(point)},
       {"devices", 1},
       {"num_nodes", 1},
       {"data", Json::object({{"class_path", "tunebench_litgpt_data.Texts"},
                              {"init_args", Json::object({{"tokenizer", checkpoint.string()},
                                                          {"path", context.data_file.string()},
                                                          {"field", context.text_field},
                                                          {"rows", context.rows},
                                                          {"samples", steps * global}})}})},
       {"train",
        Json::object({{"save_interval", kNever},
                      {"log_interval", 1},
                      {"global_batch_size", global},
                      {"micro_batch_size", micro},
                      // Without one it divides by zero.
                      {"lr_warmup_steps", std::max<std::int64_t>(1, warmup_steps_of(point, steps))},
                      {"epochs", 1},
                      {"max_steps", steps},
                      {"max_seq_length", point.integer("model_max_length")}})},
       {"eval", Json::object({{"interval", kNever},
                              {"max_new_tokens", 1},
                              {"max_iters", 1},
                              {"initial_validation", false},
                              {"final_validation", false}})},
       {"optimizer", optimizer_of(point)},
       {"logger_name", "csv"},
       {"seed", point.integer("seed")}});
  if (method_of(point) == "lora") {
    add_lora(point, config);
  }
  return config;
}

class LitGptStack final : public Stack {
 public:
  [[nodiscard]] std::string name() const override { return "litgpt"; }
  [[nodiscard]] const EnvironmentSpec* environment() const override {
    return find_environment_spec("litgpt");
  }
  [[nodiscard]] std::string version() const override { return version_with_lock(*environment()); }

  [[nodiscard]] Launch launch(const LaunchContext& context) const override {
    const experiment::Point& point = context.job.point;
    const model::ModelSpec& spec = *context.spec;
    check_llama_shape(spec, "litgpt");
    const std::int64_t steps = context.job.planned_steps;
    if (std::max<std::int64_t>(1, warmup_steps_of(point, steps)) >= steps) {
      throw Error(ErrorCode::Unsupported,
                  fmt::format("trainer litgpt cannot do {} step{}: all of them are warm-up, which "
                              "it divides by what is left",
                              steps, steps == 1 ? "" : "s"));
    }
    constexpr std::int64_t kFirstAdapterLayer = 2;
    if (method_of(point) == "adapter" && spec.layers <= kFirstAdapterLayer) {
      throw Error(
          ErrorCode::Unsupported,
          fmt::format("trainer litgpt puts adapters from the third layer on, and this model "
                      "has {}: nothing would be trained",
                      spec.layers));
    }
    const std::filesystem::path checkpoint = context.shared / "litgpt";
    Launch launch;
    launch.argv = {context.python.string(),
                   (context.modules / "tunebench_litgpt.py").string(),
                   context.model_folder.string(),
                   checkpoint.string(),
                   "--",
                   "finetune_" + method_of(point),
                   "--config",
                   (context.folder / "litgpt.yaml").string()};
    launch.files = {{"litgpt.yaml", yaml_text(litgpt_config(context, checkpoint))},
                    {(checkpoint / "model_config.yaml").string(), yaml_text(litgpt_model(spec))}};
    return launch;
  }

  [[nodiscard]] trainer::Expected expected(const experiment::Point& point) const override {
    return {.ranks = 1, .device = device_of(point), .exit_s = kPythonExitS};
  }

  [[nodiscard]] std::vector<std::string> differences(const experiment::Point& point,
                                                     const model::ModelSpec* spec) const override {
    std::vector<std::string> all;
    if (spec != nullptr && spec->tied_head) {
      all.push_back(fmt::format("its head is not tied to the embeddings ({:.1f} M more weights)",
                                static_cast<double>(spec->vocabulary * spec->width) / 1e6));
    }
    if (point.boolean("gradient_checkpointing")) {
      all.emplace_back("activations are kept, not checkpointed");
    }
    if (point.real("max_grad_norm") > 0) {
      all.emplace_back("gradients are not clipped");
    }
    return all;
  }
};

}  // namespace

std::unique_ptr<Stack> make_litgpt_stack() {
  return std::make_unique<LitGptStack>();
}

}  // namespace tunebench::outside
