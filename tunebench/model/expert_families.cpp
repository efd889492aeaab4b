#include "tunebench/model/expert_families.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

namespace tunebench::model {
namespace {

constexpr std::int64_t kMostExperts = 65536;

/// What a configuration class takes where the file is silent.
struct ExpertDefaults {
  std::string_view key = "num_local_experts";  ///< of their number
  std::int64_t count = 8;
  std::int64_t chosen = 2;
  double loss_share = 0.001;
};
constexpr ExpertDefaults kMixtral;
constexpr ExpertDefaults kQwen2Moe{.key = "num_experts", .count = 60, .chosen = 4};
constexpr ExpertDefaults kQwen3Moe{.key = "num_experts", .count = 128, .chosen = 8};
constexpr ExpertDefaults kOlmoe{.key = "num_experts", .count = 64, .chosen = 8, .loss_share = 0.01};

double read_share(ConfigReader& reader, double silent) {
  constexpr std::string_view kKey = "router_aux_loss_coef";
  const Json* share = reader.value(kKey);
  if (share == nullptr) {
    return silent;
  }
  if (!share->is_number() || share->as_double() < 0.0) {
    throw reader.invalid(kKey, "a number of at least 0");
  }
  return share->as_double();
}

void read_experts(ConfigReader& reader, const ExpertDefaults& silent, ModelSpec& spec) {
  ExpertsSpec& experts = spec.experts;
  // Newer files may have the other name.
  const std::string_view key =
      reader.either(silent.key, silent.key == "num_experts" ? "num_local_experts" : "num_experts");
  experts.count = reader.size_or(key, silent.count, kMostExperts);
  experts.chosen = reader.size_or("num_experts_per_tok", silent.chosen, kMostExperts);
  if (experts.chosen > experts.count) {
    throw reader.invalid("num_experts_per_tok", fmt::format("at most {} {}", key, experts.count));
  }
  const double share = read_share(reader, silent.loss_share);
  experts.loss_share = reader.boolean_or("output_router_logits", false) ? share : 0.0;
}

void write_experts(const ModelSpec& spec, std::string_view key, Json& config) {
  config.set(std::string(key), spec.experts.count)
      .set("num_experts_per_tok", spec.experts.chosen)
      .set("output_router_logits", spec.experts.loss_share > 0.0);
  if (spec.experts.loss_share > 0.0) {
    config.set("router_aux_loss_coef", spec.experts.loss_share);
  }
}

void read_mixtral(ConfigReader& reader, ModelSpec& spec) {
  read_experts(reader, kMixtral, spec);
  if (const Json* noise = reader.value("router_jitter_noise");
      noise != nullptr && !(noise->is_number() && noise->as_double() == 0.0)) {
    throw reader.unsupported("router_jitter_noise", "only 0 is supported");
  }
}

void write_mixtral(const ModelSpec& spec, Json& config) {
  write_experts(spec, kMixtral.key, config);
}

void read_granite_moe(ConfigReader& reader, ModelSpec& spec) {
  find_family("granite")->read_own(reader, spec);
  read_experts(reader, kMixtral, spec);
}

void write_granite_moe(const ModelSpec& spec, Json& config) {
  find_family("granite")->write_own(spec, config);
  write_experts(spec, kMixtral.key, config);
}

void read_granite_moe_shared(ConfigReader& reader, ModelSpec& spec) {
  read_granite_moe(reader, spec);
  const Json* width = reader.value("shared_intermediate_size");
  const bool none = width == nullptr || (width->is_int() && width->as_int() == 0);
  spec.experts.shared = none ? 0 : reader.size("shared_intermediate_size", std::int64_t{1} << 31);
}

void write_granite_moe_shared(const ModelSpec& spec, Json& config) {
  write_granite_moe(spec, config);
  config.set("shared_intermediate_size", spec.experts.shared);
}

/// Layers without experts among those with experts.
void refuse_mixed_layers(ConfigReader& reader) {
  constexpr std::string_view kWhy = "only experts in every layer are supported";
  const Json* dense = reader.value("mlp_only_layers");
  if (dense != nullptr && !(dense->is_array() && dense->as_array().empty())) {
    throw reader.unsupported("mlp_only_layers", kWhy);
  }
  const Json* step = reader.value("decoder_sparse_step");
  if (step != nullptr && !(step->is_int() && step->as_int() == 1)) {
    throw reader.unsupported("decoder_sparse_step", kWhy);
  }
}

/// The width of layers without experts, and where windows would begin.
void pass_over_dense_keys(ConfigReader& reader) {
  static_cast<void>(reader.value("intermediate_size"));
  static_cast<void>(reader.value("max_window_layers"));
}

void read_qwen2_moe(ConfigReader& reader, ModelSpec& spec) {
  read_experts(reader, kQwen2Moe, spec);
  spec.experts.renormalise = reader.boolean_or("norm_topk_prob", false);
  spec.experts.shared =
      reader.size_or("shared_expert_intermediate_size", 5632, std::int64_t{1} << 31);
  spec.experts.shared_gate = true;
  refuse_mixed_layers(reader);
  pass_over_dense_keys(reader);
  if (!reader.boolean_or("qkv_bias", true)) {
    throw reader.unsupported("qkv_bias", "a model of type qwen2_moe has them");
  }
}

void write_qwen2_moe(const ModelSpec& spec, Json& config) {
  write_experts(spec, kQwen2Moe.key, config);
  config.set("norm_topk_prob", spec.experts.renormalise)
      .set("shared_expert_intermediate_size", spec.experts.shared);
}

void read_qwen3_moe(ConfigReader& reader, ModelSpec& spec) {
  read_experts(reader, kQwen3Moe, spec);
  spec.experts.renormalise = reader.boolean_or("norm_topk_prob", false);
  refuse_mixed_layers(reader);
  pass_over_dense_keys(reader);
}

void write_qwen3_moe(const ModelSpec& spec, Json& config) {
  write_experts(spec, kQwen3Moe.key, config);
  config.set("norm_topk_prob", spec.experts.renormalise);
}

void read_olmoe(ConfigReader& reader, ModelSpec& spec) {
  read_experts(reader, kOlmoe, spec);
  spec.experts.renormalise = reader.boolean_or("norm_topk_prob", false);
}

}  // namespace

void add_expert_families(std::vector<Family>& list) {
  list.push_back({.model_type = "mixtral",
                  .architecture = "MixtralForCausalLM",
                  .names = kMixtralNames,
                  .max_positions = 131072,
                  .kv_heads = 8,
                  .norm_epsilon = 1e-5,
                  .rope_theta = 1e6,
                  .window_rule = WindowRule::All,
                  .read_own = read_mixtral,
                  .write_own = write_mixtral});
  list.push_back({.model_type = "granitemoe",
                  .architecture = "GraniteMoeForCausalLM",
                  .names = kGraniteMoeNames,
                  .biases = Biases::Attention,
                  .read_own = read_granite_moe,
                  .write_own = write_granite_moe});
  list.push_back({.model_type = "granitemoeshared",
                  .architecture = "GraniteMoeSharedForCausalLM",
                  .names = kGraniteMoeNames,
                  .biases = Biases::Attention,
                  .read_own = read_granite_moe_shared,
                  .write_own = write_granite_moe_shared});
  list.push_back({.model_type = "qwen2_moe",
                  .architecture = "Qwen2MoeForCausalLM",
                  .names = kQwen2MoeNames,
                  .keys = {.feed_forward = "moe_intermediate_size"},
                  .max_positions = 32768,
                  .kv_heads = 16,
                  .biases = Biases::Qkv,
                  .read_own = read_qwen2_moe,
                  .write_own = write_qwen2_moe});
  list.push_back({.model_type = "qwen3_moe",
                  .architecture = "Qwen3MoeForCausalLM",
                  .names = kQwen3MoeNames,
                  .keys = {.feed_forward = "moe_intermediate_size"},
                  .max_positions = 32768,
                  .kv_heads = 4,
                  .biases = Biases::Attention,
                  .qk_norm = true,
                  .read_own = read_qwen3_moe,
                  .write_own = write_qwen3_moe});
  list.push_back({.model_type = "olmoe",
                  .architecture = "OlmoeForCausalLM",
                  .names = kQwen3MoeNames,
                  .max_positions = 4096,
                  .norm_epsilon = 1e-5,
                  .biases = Biases::Attention,
                  .qk_norm = true,
                  .whole_qk_norm = true,
                  .read_own = read_olmoe,
                  .write_own = write_qwen3_moe});
}

}  // namespace tunebench::model
