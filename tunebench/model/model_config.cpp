// Reading config.json of the Llama family. Keys that change the arithmetic and are not
// understood are refused unless they hold the value that changes nothing.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tunebench/base/diagnostic.h"
#include "tunebench/base/log.h"
#include "tunebench/base/text.h"
#include "tunebench/model/config_reader.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/model_spec.h"

namespace tunebench::model {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 31;
constexpr std::int64_t kLargestProduct = std::int64_t{1} << 40;
constexpr std::int64_t kMostLayers = 16384;

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
                                  "max_window_layers",
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
                                  "neftune_noise_alpha"};

/// Keys known to change the arithmetic. A number that must be `neutral`; any of null, false, 0, an
/// empty text, list or object also says "not used" where `neutral` is 0.
struct Altering {
  std::string_view key;
  double neutral;
};
constexpr std::array<Altering, 46> kAltering = {{
    {"pretraining_tp", 1},
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
    {"quantization_config", 0},
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

void refuse_what_alters(ConfigReader& reader) {
  for (const Altering& altering : kAltering) {
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
}

void refuse_mixed_layers(ConfigReader& reader) {
  const Json* types = reader.value("layer_types");
  if (types == nullptr) {
    return;
  }
  const bool all_full =
      types->is_array() &&
      std::all_of(types->as_array().begin(), types->as_array().end(), [](const Json& type) {
        return type.is_string() && type.as_string() == "full_attention";
      });
  if (!all_full) {
    throw reader.unsupported("layer_types", "only full_attention is supported");
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

const Family& read_family(ConfigReader& reader) {
  const std::optional<std::string> type = reader.text("model_type");
  if (!type) {
    throw reader.invalid("model_type", "llama, mistral or qwen2");
  }
  const auto found = std::find_if(kFamilies.begin(), kFamilies.end(),
                                  [&](const Family& family) { return family.model_type == *type; });
  if (found == kFamilies.end()) {
    throw reader.unsupported("model_type", "this program knows llama, mistral and qwen2");
  }
  const Json* architectures = reader.value("architectures");
  if (architectures != nullptr) {
    const bool one_text = architectures->is_array() && architectures->as_array().size() == 1 &&
                          architectures->as_array().front().is_string();
    if (!one_text || architectures->as_array().front().as_string() != found->architecture) {
      throw reader.unsupported("architectures", fmt::format("a model of type {} has [\"{}\"]",
                                                            *type, found->architecture));
    }
  }
  return *found;
}

void refuse_binding_window(ConfigReader& reader, const Family& family, const ModelSpec& spec) {
  const bool used = reader.boolean_or("use_sliding_window", false);
  const Json* window = reader.value("sliding_window");
  if (family.model_type == "qwen2") {
    if (used) {
      throw reader.unsupported("use_sliding_window", "windowed attention is not supported");
    }
    return;
  }
  // A file that says null has no window; one without the key has that of its class.
  const std::int64_t silent = reader.has_key("sliding_window") ? 0 : family.sliding_window;
  const std::int64_t size =
      window == nullptr ? silent : reader.size("sliding_window", kLargestSize);
  if (size != 0 && size < spec.max_positions) {
    throw reader.unsupported(
        "sliding_window",
        fmt::format("a window of {} positions below max_position_embeddings {} is not supported; "
                    "null or at least {} is",
                    size, spec.max_positions, spec.max_positions));
  }
}

RopeScaling::Type rope_type(ConfigReader& block) {
  const std::optional<std::string> type = block.text("rope_type");
  const std::optional<std::string> older = block.text("type");
  if (type && older && *type != *older) {
    throw block.invalid("type", fmt::format("the same as rope_type, {}", *type));
  }
  const std::string name = type ? *type : older.value_or("default");
  if (name == "default" || name == "none") {
    return RopeScaling::Type::None;
  }
  if (name == "linear") {
    return RopeScaling::Type::Linear;
  }
  if (name == "llama3") {
    return RopeScaling::Type::Llama3;
  }
  throw block.unsupported(type ? "rope_type" : "type",
                          "this program knows default, linear and llama3");
}

RopeScaling read_rope_block(ConfigReader& block, const ModelSpec& spec) {
  RopeScaling scaling;
  scaling.type = rope_type(block);
  if (block.positive_or("partial_rotary_factor", 1.0) != 1.0) {
    throw block.unsupported("partial_rotary_factor", "only 1 is supported");
  }
  const std::int64_t original =
      block.size_or("original_max_position_embeddings", spec.max_positions, kLargestSize);
  if (scaling.type == RopeScaling::Type::None) {
    if (block.positive_or("factor", 1.0) != 1.0) {
      throw block.unsupported("factor", "but the rope type does not scale");
    }
  } else {
    scaling.factor = block.positive("factor");
  }
  if (scaling.type == RopeScaling::Type::Llama3) {
    scaling.low_freq_factor = block.positive("low_freq_factor");
    scaling.high_freq_factor = block.positive("high_freq_factor");
    scaling.original_max_positions = original;
    if (scaling.high_freq_factor <= scaling.low_freq_factor) {
      throw block.invalid("high_freq_factor", fmt::format("more than low_freq_factor {}",
                                                          shortest(scaling.low_freq_factor)));
    }
  }
  for (const std::string& key : block.unread()) {
    if (block.stated(key)) {
      throw block.unsupported(key, "which this program does not understand");
    }
  }
  return scaling;
}

void read_rope(ConfigReader& reader, ModelSpec& spec) {
  constexpr double kTheta = 10000.0;
  spec.rope_theta = reader.positive_or("rope_theta", kTheta);
  const Json* newer = reader.value("rope_parameters");
  const Json* older = reader.value("rope_scaling");
  if (newer != nullptr && older != nullptr && !(*newer == *older)) {
    throw reader.unsupported("rope_scaling", "and rope_parameters says something else; keep one");
  }
  const std::string_view key = newer != nullptr ? "rope_parameters" : "rope_scaling";
  const Json* value = newer != nullptr ? newer : older;
  if (value == nullptr) {
    return;
  }
  ConfigReader block(*value, fmt::format("{}: {}", reader.origin(), key));
  spec.rope_theta = block.positive_or("rope_theta", spec.rope_theta);
  spec.rope_scaling = read_rope_block(block, spec);
  if (spec.rope_scaling.type == RopeScaling::Type::Llama3 &&
      reader.size_or("original_max_position_embeddings", spec.rope_scaling.original_max_positions,
                     kLargestSize) != spec.rope_scaling.original_max_positions) {
    throw reader.unsupported("original_max_position_embeddings",
                             fmt::format("and {} says something else; keep one", key));
  }
}

std::int64_t product_within(const ConfigReader& reader, std::string_view what,
                            std::initializer_list<std::int64_t> sizes) {
  std::int64_t product = 1;
  for (const std::int64_t size : sizes) {
    if (product > kLargestProduct / size) {
      throw Error(ErrorCode::InvalidInput,
                  fmt::format("{}: {} is more than 2^40", reader.origin(), what));
    }
    product *= size;
  }
  return product;
}

void read_sizes(ConfigReader& reader, const Family& family, ModelSpec& spec) {
  spec.vocabulary = reader.size("vocab_size", kLargestSize);
  spec.width = reader.size("hidden_size", kLargestSize);
  spec.layers = reader.size("num_hidden_layers", kMostLayers);
  spec.heads = reader.size("num_attention_heads", kLargestSize);
  spec.kv_heads = reader.size_or("num_key_value_heads", spec.heads, kLargestSize);
  spec.feed_forward = reader.size("intermediate_size", kLargestSize);
  spec.max_positions =
      reader.size_or("max_position_embeddings", family.max_positions, kLargestSize);
  if (spec.heads % spec.kv_heads != 0) {
    throw reader.invalid("num_key_value_heads",
                         fmt::format("a divisor of num_attention_heads {}", spec.heads));
  }
  if (reader.stated("head_dim")) {
    spec.head_width = reader.size("head_dim", kLargestSize);
  } else if (reader.value("head_dim") == nullptr && spec.width % spec.heads == 0) {
    spec.head_width = spec.width / spec.heads;
  } else {
    throw reader.invalid(
        "hidden_size",
        fmt::format("a multiple of num_attention_heads {}, or a head_dim", spec.heads));
  }
  if (spec.head_width % 2 != 0) {
    throw Error(ErrorCode::InvalidInput,
                fmt::format("{}: a head is {} wide, expected an even number", reader.origin(),
                            spec.head_width));
  }
}

/// One by one the products fit int64, so their sum over tensors does too.
void check_products(const ConfigReader& reader, const ModelSpec& spec) {
  product_within(reader, "vocab_size * hidden_size", {spec.vocabulary, spec.width});
  const std::int64_t attention =
      product_within(reader, "num_attention_heads * head_dim * hidden_size",
                     {spec.heads, spec.head_width, spec.width});
  const std::int64_t mlp =
      product_within(reader, "intermediate_size * hidden_size", {spec.feed_forward, spec.width});
  product_within(reader, "the number of parameters", {4 * attention + 3 * mlp, spec.layers});
}

std::optional<std::int64_t> token_id(const ConfigReader& reader, std::string_view key,
                                     const Json& value, std::int64_t vocabulary) {
  if (!value.is_int() || value.as_int() >= vocabulary) {
    throw reader.invalid(key, fmt::format("a token id below vocab_size {}", vocabulary));
  }
  // -1 stands for "no such token" in files of early conversions.
  return value.as_int() < 0 ? std::nullopt : std::optional(value.as_int());
}

void read_token_ids(ConfigReader& reader, ModelSpec& spec) {
  if (const Json* bos = reader.value("bos_token_id")) {
    spec.bos_token = token_id(reader, "bos_token_id", *bos, spec.vocabulary);
  }
  if (const Json* pad = reader.value("pad_token_id")) {
    spec.pad_token = token_id(reader, "pad_token_id", *pad, spec.vocabulary);
  }
  const Json* eos = reader.value("eos_token_id");
  if (eos == nullptr) {
    return;
  }
  const Json::Array ids = eos->is_array() ? eos->as_array() : Json::Array{*eos};
  for (const Json& id : ids) {
    if (const auto token = token_id(reader, "eos_token_id", id, spec.vocabulary)) {
      spec.eos_tokens.push_back(*token);
    }
  }
}

std::string read_dtype(ConfigReader& reader) {
  const std::string_view key = reader.stated("dtype") ? "dtype" : "torch_dtype";
  const std::optional<std::string> newer = reader.text("dtype");
  const std::optional<std::string> older = reader.text("torch_dtype");
  std::string name = newer ? *newer : older.value_or("float32");
  if (name.starts_with("torch.")) {
    name = name.substr(6);
  }
  if (name != "float32" && name != "float16" && name != "bfloat16") {
    throw reader.unsupported(key, "this program reads float32, float16 and bfloat16");
  }
  return name;
}

void read_biases(ConfigReader& reader, const Family& family, ModelSpec& spec) {
  const bool attention = reader.boolean_or("attention_bias", false);
  spec.mlp_bias = reader.boolean_or("mlp_bias", false);
  if (family.model_type == "llama") {
    spec.qkv_bias = attention;
    spec.output_bias = attention;
    return;
  }
  if (spec.mlp_bias) {
    throw reader.unsupported("mlp_bias",
                             fmt::format("a model of type {} has none", family.model_type));
  }
  if (family.model_type == "qwen2") {
    spec.qkv_bias = true;  // of the architecture, whatever attention_bias says
    return;
  }
  if (attention) {
    throw reader.unsupported("attention_bias", "a model of type mistral has none");
  }
}

}  // namespace

ModelSpec parse_model_config(const Json& config, std::string_view origin) {
  ConfigReader reader(config, origin);
  const Family& family = read_family(reader);
  refuse_quantized(reader);
  refuse_what_alters(reader);
  ModelSpec spec;
  spec.name = std::string(origin);
  spec.model_type = std::string(family.model_type);
  read_sizes(reader, family, spec);
  check_products(reader, spec);
  if (const auto activation = reader.text("hidden_act"); activation && *activation != "silu") {
    throw reader.unsupported("hidden_act", "only silu is supported");
  }
  spec.rms_epsilon = reader.positive_or("rms_norm_eps", 1e-6);
  spec.initializer_range = reader.positive_or("initializer_range", 0.02);
  spec.tied_head = reader.boolean_or("tie_word_embeddings", false);
  spec.stored_dtype = read_dtype(reader);
  refuse_binding_window(reader, family, spec);
  refuse_mixed_layers(reader);
  read_rope(reader, spec);
  read_biases(reader, family, spec);
  read_token_ids(reader, spec);
  report_unknown(reader);
  return spec;
}

}  // namespace tunebench::model
