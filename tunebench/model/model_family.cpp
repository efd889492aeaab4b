#include "tunebench/model/model_family.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tunebench/base/text.h"
#include "tunebench/model/expert_families.h"
#include "tunebench/model/safetensors.h"

namespace tunebench::model {
namespace {

void read_granite(ConfigReader& reader, ModelSpec& spec) {
  spec.embedding_scale = reader.positive_or("embedding_multiplier", 1.0);
  spec.residual_scale = reader.positive_or("residual_multiplier", 1.0);
  spec.logit_divisor = reader.positive_or("logits_scaling", 1.0);
  spec.attention_scale = reader.positive_or("attention_multiplier", 1.0);
}

void write_granite(const ModelSpec& spec, Json& config) {
  config.set("embedding_multiplier", spec.embedding_scale)
      .set("residual_multiplier", spec.residual_scale)
      .set("logits_scaling", spec.logit_divisor)
      .set("attention_multiplier", spec.attention_scale);
}

/// Granite 4.0 without experts and without state-space layers: what is left is a Granite.
void read_granite_hybrid(ConfigReader& reader, ModelSpec& spec) {
  read_granite(reader, spec);
  const Json* experts = reader.value("num_local_experts");
  if (experts == nullptr || !experts->is_int() || experts->as_int() != 0) {
    throw reader.unsupported("num_local_experts", kNoSuchExperts);
  }
  if (reader.value("layer_types") == nullptr) {
    throw reader.unsupported("layer_types", kNoStateSpace);
  }
  // Any other word, and none, means that nothing is rotated.
  if (reader.text("position_embedding_type").value_or("") != "rope") {
    spec.positions = PositionKind::None;
    static_cast<void>(reader.value("rope_theta"));
    static_cast<void>(reader.value("rope_scaling"));
  }
  for (const char* unused :
       {"intermediate_size", "num_experts_per_tok", "router_aux_loss_coef", "mamba_n_heads",
        "mamba_n_groups", "mamba_d_state", "mamba_d_head", "mamba_d_conv", "mamba_expand",
        "mamba_chunk_size", "mamba_conv_bias", "mamba_proj_bias", "time_step_limit"}) {
    static_cast<void>(reader.value(unused));
  }
}

void write_granite_hybrid(const ModelSpec& spec, Json& config) {
  write_granite(spec, config);
  Json::Array layers(static_cast<std::size_t>(spec.layers), Json("attention"));
  config.set("num_local_experts", 0)
      .set("num_experts_per_tok", 0)
      .set("layer_types", Json(std::move(layers)))
      .set("position_embedding_type",
           spec.positions == PositionKind::Rope ? Json("rope") : Json(nullptr));
}

void read_phi3(ConfigReader& reader, ModelSpec& /*spec*/) {
  // Its first files point at code of their own; what it computes is in transformers since.
  static_cast<void>(reader.value("auto_map"));
}

/// The number that embeddings are multiplied with is itself of the type of the weights.
double rounded_to(std::string_view dtype, double value) {
  const auto narrow = static_cast<float>(value);
  if (dtype == "bfloat16") {
    return static_cast<double>(float_from_bfloat16(bfloat16_from_float(narrow)));
  }
  if (dtype == "float16") {
    return static_cast<double>(float_from_half(half_from_float(narrow)));
  }
  return static_cast<double>(narrow);
}

/// A cap that is null is none.
double read_cap(ConfigReader& reader, std::string_view key, double silent) {
  return reader.has_key(key) ? reader.positive_or(key, 0.0) : silent;
}

void read_gemma(ConfigReader& reader, ModelSpec& spec) {
  spec.embedding_scale = rounded_to(spec.stored_dtype, std::sqrt(static_cast<double>(spec.width)));
  spec.attention_scale = 1.0 / std::sqrt(reader.positive_or("query_pre_attn_scalar", 256.0));
  if (reader.boolean_or("use_bidirectional_attention", false)) {
    throw reader.unsupported("use_bidirectional_attention", "only causal attention is supported");
  }
  static_cast<void>(reader.value("hidden_act"));  // hidden_activation is what counts
}

void read_gemma2(ConfigReader& reader, ModelSpec& spec) {
  read_gemma(reader, spec);
  spec.score_cap = read_cap(reader, "attn_logit_softcapping", 50.0);
  spec.logit_cap = read_cap(reader, "final_logit_softcapping", 30.0);
}

void read_gemma3(ConfigReader& reader, ModelSpec& spec) {
  read_gemma(reader, spec);
  spec.logit_cap = read_cap(reader, "final_logit_softcapping", 0.0);
}

void write_gemma(const ModelSpec& spec, Json& config) {
  const double squared = 1.0 / (spec.attention_scale * spec.attention_scale);
  const double whole = std::round(squared);
  const auto cap = [](double value) { return value > 0.0 ? Json(value) : Json(nullptr); };
  config.set("query_pre_attn_scalar", std::abs(squared - whole) < 1e-6 * squared ? whole : squared)
      .set("attn_logit_softcapping", cap(spec.score_cap))
      .set("final_logit_softcapping", cap(spec.logit_cap));
}

/// Dropout is not computed; `silent` is what its class takes when the file says nothing.
void refuse_dropout(ConfigReader& reader, std::string_view key, double silent) {
  const Json* value = reader.value(key);
  const double share = value != nullptr && value->is_number() ? value->as_double()
                       : reader.has_key(key)                  ? 0.0
                                                              : silent;
  if (share != 0.0) {
    throw reader.unsupported(
        key, fmt::format("so {} of it is dropped, and dropout is not supported; to train without "
                         "it write 0 there",
                         shortest(share)));
  }
}

void read_gpt_bigcode(ConfigReader& reader, ModelSpec& spec) {
  for (const char* key : {"attn_pdrop", "embd_pdrop", "resid_pdrop"}) {
    refuse_dropout(reader, key, 0.1);
  }
  const bool one_key_head = reader.boolean_or("multi_query", true);
  const std::int64_t kv_heads = one_key_head ? 1 : spec.heads;
  if (reader.stated("num_key_value_heads") && spec.kv_heads != kv_heads) {
    throw reader.unsupported("num_key_value_heads",
                             fmt::format("and multi_query asks for {}; keep one", kv_heads));
  }
  spec.kv_heads = kv_heads;
  spec.interleaved_qkv = !one_key_head;
  spec.attention_scale = reader.boolean_or("scale_attn_weights", true) ? 0.0 : 1.0;
  for (const char* unused :
       {"attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "inference_runner",
        "pre_allocate_kv_cache", "validate_runner_input", "summary_activation",
        "summary_first_dropout", "summary_proj_to_labels", "summary_type", "summary_use_proj"}) {
    static_cast<void>(reader.value(unused));
  }
}

void write_gpt_bigcode(const ModelSpec& spec, Json& config) {
  config.set("multi_query", !spec.interleaved_qkv)
      .set("scale_attn_weights", spec.attention_scale == 0.0)
      .set("attn_pdrop", 0.0)
      .set("embd_pdrop", 0.0)
      .set("resid_pdrop", 0.0);
}

void read_bloom(ConfigReader& reader, ModelSpec& spec) {
  for (const char* key : {"attention_dropout", "hidden_dropout"}) {
    refuse_dropout(reader, key, 0.0);
  }
  if (reader.boolean_or("apply_residual_connection_post_layernorm", false)) {
    throw reader.unsupported("apply_residual_connection_post_layernorm", "only false is supported");
  }
  spec.interleaved_qkv = true;
  if (spec.kv_heads != spec.heads) {
    throw reader.invalid("num_key_value_heads", fmt::format("{}, as many as heads", spec.heads));
  }
  // The last is a way of computing, with the same result.
  for (const char* unused :
       {"offset_alibi", "masked_softmax_fusion", "bias_dropout_fusion", "skip_bias_add",
        "skip_bias_add_qkv", "attention_softmax_in_fp32", "slow_but_exact", "pretraining_tp"}) {
    static_cast<void>(reader.value(unused));
  }
}

void add_llamas(std::vector<Family>& list) {
  list.push_back({.model_type = "llama",
                  .architecture = "LlamaForCausalLM",
                  .biases = Biases::AttentionAndMlp});
  list.push_back({.model_type = "mistral",
                  .architecture = "MistralForCausalLM",
                  .max_positions = 131072,
                  .kv_heads = 8,
                  .window = 4096,
                  .window_rule = WindowRule::All});
  list.push_back({.model_type = "qwen2",
                  .architecture = "Qwen2ForCausalLM",
                  .max_positions = 32768,
                  .kv_heads = 32,
                  .window = 4096,
                  .biases = Biases::Qkv,
                  .window_rule = WindowRule::FromLayer});
  list.push_back({.model_type = "qwen3",
                  .architecture = "Qwen3ForCausalLM",
                  .names = kQwen3Names,
                  .max_positions = 32768,
                  .kv_heads = 32,
                  .head_width = 128,
                  .window = 4096,
                  .biases = Biases::Attention,
                  .window_rule = WindowRule::FromLayer,
                  .qk_norm = true});
  list.push_back({.model_type = "phi3",
                  .architecture = "Phi3ForCausalLM",
                  .names = kPhi3Names,
                  .max_positions = 4096,
                  .norm_epsilon = 1e-5,
                  .window_rule = WindowRule::All,
                  .partial_rotary = true,
                  .read_own = read_phi3});
}

void add_granites(std::vector<Family>& list) {
  list.push_back({.model_type = "granite",
                  .architecture = "GraniteForCausalLM",
                  .biases = Biases::AttentionAndMlp,
                  .read_own = read_granite,
                  .write_own = write_granite});
  list.push_back({.model_type = "granitemoehybrid",
                  .architecture = "GraniteMoeHybridForCausalLM",
                  .names = kGraniteHybridNames,
                  .keys = {.feed_forward = "shared_intermediate_size"},
                  .biases = Biases::Attention,
                  .read_own = read_granite_hybrid,
                  .write_own = write_granite_hybrid});
}

void add_gemmas(std::vector<Family>& list) {
  Family gemma{.model_type = "gemma2",
               .architecture = "Gemma2ForCausalLM",
               .names = kGemmaNames,
               .keys = {.activation = "hidden_activation"},
               .max_positions = 8192,
               .kv_heads = 4,
               .head_width = 256,
               .window = 4096,
               .tied_head = true,
               .activation = Activation::GeluTanh,
               .norm = NormKind::RmsPlusOne,
               .biases = Biases::Attention,
               .window_rule = WindowRule::EveryOther,
               .scaled_table = true,
               .post_norms = true,
               .read_own = read_gemma2,
               .write_own = write_gemma};
  list.push_back(gemma);
  gemma.model_type = "gemma3_text";
  gemma.architecture = "Gemma3ForCausalLM";
  gemma.max_positions = 131072;
  gemma.rope_theta = 1e6;
  gemma.local_rope_theta = 1e4;
  gemma.window_rule = WindowRule::FiveOfSix;
  gemma.qk_norm = true;
  gemma.read_own = read_gemma3;
  list.push_back(gemma);
}

/// From before rotation and gates: layer norms, biases everywhere, one projection up.
void add_older_transformers(std::vector<Family>& list) {
  list.push_back({.model_type = "gpt_bigcode",
                  .architecture = "GPTBigCodeForCausalLM",
                  .names = kGptBigCodeNames,
                  .keys = {.width = "n_embd",
                           .layers = "n_layer",
                           .heads = "n_head",
                           .feed_forward = "n_inner",
                           .positions = "n_positions",
                           .epsilon = "layer_norm_epsilon",
                           .activation = "activation_function"},
                  .max_positions = 1024,
                  .norm_epsilon = 1e-5,
                  .tied_head = true,
                  .activation = Activation::GeluTanh,
                  .norm = NormKind::Layer,
                  .positions = PositionKind::Learned,
                  .biases = Biases::All,
                  .gated_mlp = false,
                  .read_own = read_gpt_bigcode,
                  .write_own = write_gpt_bigcode});
  list.push_back({.model_type = "bloom",
                  .architecture = "BloomForCausalLM",
                  .names = kBloomNames,
                  .keys = {.width = "n_embed",
                           .layers = "n_layer",
                           .heads = "n_head",
                           .feed_forward = "n_inner",
                           .positions = "seq_length",
                           .epsilon = "layer_norm_epsilon",
                           .activation = "activation_function"},
                  .max_positions = 2048,
                  .norm_epsilon = 1e-5,
                  .tied_head = true,
                  .activation = Activation::GeluTanh,
                  .norm = NormKind::Layer,
                  .positions = PositionKind::Alibi,
                  .biases = Biases::All,
                  .embedding_norm = true,
                  .gated_mlp = false,
                  .read_own = read_bloom});
}

std::vector<Family> make_families() {
  std::vector<Family> list;
  add_llamas(list);
  add_granites(list);
  add_expert_families(list);
  add_gemmas(list);
  add_older_transformers(list);
  return list;
}

}  // namespace

const std::vector<Family>& families() {
  static const std::vector<Family> list = make_families();
  return list;
}

const Family* find_family(std::string_view model_type) {
  const auto found = std::find_if(families().begin(), families().end(), [&](const Family& family) {
    return family.model_type == model_type;
  });
  return found == families().end() ? nullptr : &*found;
}

const Family& family_of(const ModelSpec& spec) {
  const Family* family = find_family(spec.model_type);
  return family == nullptr ? families().front() : *family;
}

std::string family_names() {
  std::string names;
  for (const Family& family : families()) {
    const bool last = &family == &families().back();
    names += fmt::format("{}{}", names.empty() ? "" : last ? " and " : ", ", family.model_type);
  }
  return names;
}

const std::vector<RefusedModelType>& refused_model_types() {
  static const std::vector<RefusedModelType> list = {
      {"deepseek_v3", kNoSuchExperts},
      {"gpt_oss", kNoSuchExperts},
      {"mamba", kNoStateSpace},
      {"mamba2", kNoStateSpace},
      {"bamba", kNoStateSpace},
      {"gemma3", kNoVision},
      {"llava", kNoVision},
      {"mllama", kNoVision},
      {"qwen2_vl", kNoVision},
      {"qwen2_5_vl", kNoVision},
  };
  return list;
}

std::string_view reason_against(std::string_view model_type) {
  for (const RefusedModelType& refused : refused_model_types()) {
    if (refused.model_type == model_type) {
      return refused.reason;
    }
  }
  return {};
}

}  // namespace tunebench::model
