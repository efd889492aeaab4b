#include <array>
#include <optional>
#include <string>
#include <utility>

#include "tunebench/base/error.h"
#include "tunebench/model/model_family.h"
#include "tunebench/model/model_spec.h"
#include "tunebench/model/position_config.h"
#include "tunebench/model/text_side.h"

namespace tunebench::model {
namespace {

/// The family whose arithmetic has exactly these biases, where a GGUF file has told them and not a
/// model_type.
const Family& family_to_write(const ModelSpec& spec) {
  const Family& own = family_of(spec);
  const bool llama =
      own.model_type == "llama" || own.model_type == "mistral" || own.model_type == "qwen2";
  if (!llama) {
    return own;
  }
  if (spec.qkv_bias && !spec.output_bias && !spec.mlp_bias) {
    return *find_family("qwen2");
  }
  if (spec.qkv_bias != spec.output_bias) {
    throw Error(ErrorCode::Unsupported,
                "no model type has these biases: q, k, v and output must agree when the mlp has "
                "biases");
  }
  const bool plain = !spec.qkv_bias && !spec.mlp_bias;
  return plain && own.model_type == "mistral" ? own : *find_family("llama");
}

Json id_json(const std::optional<std::int64_t>& id) {
  return id ? Json(*id) : Json(nullptr);
}

std::string_view activation_name(Activation activation) {
  switch (activation) {
    case Activation::Silu:
      return "silu";
    case Activation::GeluTanh:
      return "gelu_pytorch_tanh";
    case Activation::Gelu:
      return "gelu";
  }
  return "";
}

Json eos_json(const std::vector<std::int64_t>& tokens) {
  if (tokens.size() == 1) {
    return tokens.front();
  }
  return tokens.empty() ? Json(nullptr) : Json::array({tokens.begin(), tokens.end()});
}

}  // namespace

Json model_config_json(const ModelSpec& spec) {
  const Family& family = family_to_write(spec);
  const SizeKeys& keys = family.keys;
  Json config = Json::object();
  config.set("architectures", Json::array({family.architecture}))
      .set("model_type", family.model_type)
      .set("vocab_size", spec.vocabulary)
      .set(std::string(keys.width), spec.width)
      .set(std::string(keys.feed_forward), spec.feed_forward)
      .set(std::string(keys.layers), spec.layers)
      .set(std::string(keys.heads), spec.heads)
      .set("num_key_value_heads", spec.kv_heads)
      .set("head_dim", spec.head_width)
      .set(std::string(keys.activation), activation_name(spec.activation))
      .set(std::string(keys.positions), spec.max_positions)
      .set("initializer_range", spec.initializer_range)
      .set(std::string(keys.epsilon), spec.norm_epsilon);
  write_positions(spec, family, config);
  if (family.biases != Biases::All) {
    config.set("attention_bias", spec.qkv_bias && spec.output_bias).set("mlp_bias", spec.mlp_bias);
  }
  config.set("attention_dropout", 0.0)
      .set("tie_word_embeddings", spec.tied_head)
      .set("bos_token_id", id_json(spec.bos_token))
      .set("eos_token_id", eos_json(spec.eos_tokens))
      .set("pad_token_id", id_json(spec.pad_token))
      .set("torch_dtype", spec.stored_dtype);
  if (family.write_own != nullptr) {
    family.write_own(spec, config);
  }
  return spec.tensor_prefix.empty() ? config : with_text_side(std::move(config));
}

}  // namespace tunebench::model
