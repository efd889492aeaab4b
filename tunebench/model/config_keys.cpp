#include "tunebench/model/config_keys.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/log.h"
#include "tunebench/base/text.h"

namespace tunebench::model {
namespace {

/// Keys that say nothing about the arithmetic of training: bookkeeping and text generation.
constexpr std::array kHarmless = {"_name_or_path",
                                  "_commit_hash",
                                  "_attn_implementation",
                                  "_attn_implementation_autoset",
                                  "_attn_implementation_internal",
                                  "transformers_version",
                                  "transformers.js_config",
                                  "use_cache",
                                  "is_llama_config",
                                  "id2label",
                                  "label2id",
                                  "num_labels",
                                  "problem_type",
                                  "finetuning_task",
                                  "task_specific_params",
                                  "output_attentions",
                                  "output_hidden_states",
                                  "output_scores",
                                  "output_router_logits",
                                  "output_past",
                                  "return_dict",
                                  "return_dict_in_generate",
                                  "torchscript",
                                  "use_bfloat16",
                                  "gradient_checkpointing",
                                  "chunk_size_feed_forward",
                                  "tokenizer_class",
                                  "prefix",
                                  "sep_token_id",
                                  "cls_token_id",
                                  "unk_token_id",
                                  "decoder_start_token_id",
                                  "forced_bos_token_id",
                                  "forced_eos_token_id",
                                  "tf_legacy_loss",
                                  "max_length",
                                  "max_new_tokens",
                                  "min_length",
                                  "do_sample",
                                  "early_stopping",
                                  "num_beams",
                                  "num_beam_groups",
                                  "num_return_sequences",
                                  "diversity_penalty",
                                  "temperature",
                                  "top_k",
                                  "top_p",
                                  "typical_p",
                                  "epsilon_cutoff",
                                  "eta_cutoff",
                                  "repetition_penalty",
                                  "length_penalty",
                                  "no_repeat_ngram_size",
                                  "encoder_no_repeat_ngram_size",
                                  "bad_words_ids",
                                  "suppress_tokens",
                                  "begin_suppress_tokens",
                                  "exponential_decay_length_penalty",
                                  "remove_invalid_values",
                                  "renormalize_logits",
                                  "max_sequence_length",
                                  "model_max_length",
                                  "seq_length",
                                  "unsloth_fixed",
                                  "unsloth_version",
                                  "tie_encoder_decoder",
                                  "is_decoder",
                                  "transformers_weights",
                                  "pad_token",
                                  "bos_token",
                                  "eos_token",
                                  "unk_token",
                                  "neftune_noise_alpha",
                                  "cache_implementation",
                                  "_sliding_window_pattern",
                                  "normalization_function",
                                  "init_method"};

/// Keys known to change the arithmetic. A number that must be `neutral`; any of null, false, 0, an
/// empty text, list or object also says "not used" where `neutral` is 0.
struct Altering {
  std::string_view key;
  double neutral;
};
constexpr std::array<Altering, 48> kAltering = {{
    {"pretraining_tp", 1},
    {"interpolate_factor", 1},
    {"full_attn_mod", 1},
    {"lm_head_bias", 0},
    {"partial_rotary_factor", 1},
    {"rotary_pct", 1},
    {"logit_scale", 1},
    {"logits_scaling", 1},
    {"embedding_multiplier", 1},
    {"residual_multiplier", 1},
    {"scale_emb", 1},
    {"attention_multiplier", 0},
    {"scale_depth", 0},
    {"dim_model_base", 0},
    {"query_pre_attn_scalar", 0},
    {"attn_logit_softcapping", 0},
    {"final_logit_softcapping", 0},
    {"logits_soft_cap", 0},
    {"attention_dropout", 0},
    {"hidden_dropout", 0},
    {"hidden_dropout_prob", 0},
    {"residual_dropout", 0},
    {"resid_pdrop", 0},
    {"embd_pdrop", 0},
    {"attn_pdrop", 0},
    {"clip_qkv", 0},
    {"qk_layernorm", 0},
    {"use_qk_norm", 0},
    {"qk_norm", 0},
    {"rope_interleaved", 0},
    {"no_rope_layers", 0},
    {"no_rope_layer_interval", 0},
    {"attn_temperature_tuning", 0},
    {"alibi", 0},
    {"parallel_attn", 0},
    {"use_parallel_residual", 0},
    {"is_encoder_decoder", 0},
    {"add_cross_attention", 0},
    {"cross_attention_hidden_size", 0},
    {"pruned_heads", 0},
    {"num_local_experts", 0},
    {"num_experts", 0},
    {"n_routed_experts", 0},
    {"per_layer_config", 0},
    {"compression_config", 0},
    {"auto_map", 0},
    {"use_mrope", 0},
    {"vision_config", 0},
}};

bool says_not_used(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::Null:
      return true;
    case Json::Kind::Boolean:
      return !value.as_bool();
    case Json::Kind::Integer:
    case Json::Kind::Real:
      return value.as_double() == 0.0;
    case Json::Kind::String:
      return value.as_string().empty();
    case Json::Kind::Array:
      return value.as_array().empty();
    case Json::Kind::Object:
      return value.as_object().empty();
  }
  return false;
}

}  // namespace

void refuse_what_alters(ConfigReader& reader) {
  for (const Altering& altering : kAltering) {
    if (reader.was_read(altering.key)) {
      continue;
    }
    const Json* value = reader.value(altering.key);
    if (value == nullptr) {
      continue;
    }
    const bool neutral =
        value->is_number() ? value->as_double() == altering.neutral : says_not_used(*value);
    if (!neutral) {
      throw reader.unsupported(altering.key, "which this program cannot compute");
    }
  }
}

void refuse_quantized(ConfigReader& reader) {
  const Json* quantization = reader.value("quantization_config");
  const Json* method = quantization == nullptr || !quantization->is_object()
                           ? nullptr
                           : quantization->find("quant_method");
  if (method != nullptr && method->is_string()) {
    throw Error(ErrorCode::Unsupported,
                fmt::format("{}: quantization_config: weights quantized by {} are not trained by "
                            "this program; give the model in float32, float16 or bfloat16",
                            reader.origin(), excerpt(method->as_string())));
  }
  if (quantization != nullptr && !says_not_used(*quantization)) {
    throw reader.unsupported("quantization_config", "which this program cannot compute");
  }
}

void report_unknown(const ConfigReader& reader) {
  std::vector<std::string> unknown;
  for (const std::string& key : reader.unread()) {
    if (std::find(kHarmless.begin(), kHarmless.end(), key) == kHarmless.end()) {
      unknown.push_back(excerpt(key));
    }
  }
  if (!unknown.empty()) {
    log_warning(fmt::format("{}: ignored, as nothing here knows them: {}", reader.origin(),
                            join(unknown, ", ")));
  }
}

}  // namespace tunebench::model
